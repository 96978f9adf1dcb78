"""The last position that a folder was made for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.oracle import require_llama
from tests.support.runner import export, llama_logits, prompt
from tests.support.tiny import write_tiny

require_llama()


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
@pytest.mark.parametrize("options", [{}, {"rope_dim": 32, "types": "Q8_0"}], ids=["whole", "partial"])
def test_context_can_be_filled(tmp_path: Path, ep: str, options: dict[str, Any]) -> None:
    """Tables and masks reach to the end: at once, and the last tokens one by one."""
    path = write_tiny(tmp_path / "t.gguf", "gemma3", n_ctx=64, **options)
    plan, session = export(path, tmp_path / "onnx", ep=ep, accuracy_level=0)
    assert plan.context_length == 64
    ids = prompt(64, plan.spec.vocab)
    wanted = llama_logits(path, tmp_path, ids)
    for steps in (None, [61, 1, 1, 1]):
        np.testing.assert_allclose(session.logits(ids, steps), wanted, atol=3e-3, rtol=0)
