"""Opening a folder: what an old ONNX Runtime is told."""

from pathlib import Path

import onnxruntime as ort
import pytest

from tests.support.cli import mobius
from tests.support.tiny import write_tiny


def test_an_old_runtime_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1.23.0 computes ONNX's Attention wrong, and says nothing."""
    path = write_tiny(tmp_path / "t.gguf", "llama", types={".": "Q8_0"}, tokenizer="spm")
    assert mobius("convert", path, "-o", tmp_path / "out").exit_code == 0
    monkeypatch.setattr(ort, "__version__", "1.23.0")
    done = mobius("run", tmp_path / "out", "-p", "a")
    assert done.exit_code == 1
    assert "this is onnxruntime 1.23.0, and the folder needs 1.23.1" in done.stderr
