"""What a large vocabulary costs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "export_tokenizer.py"


@pytest.mark.real
def test_a_large_vocabulary_takes_under_300_megabytes(gemma_gguf: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), str(gemma_gguf), str(tmp_path / "tokenizer.json")]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert found["tokens"] == 262_144
    assert found["bytes"] == (tmp_path / "tokenizer.json").stat().st_size
    assert found["peak_mb"] < 300
