"""Layers whose state has a fixed size, in onnxruntime-genai: it finds the states, and takes our session's tokens."""

from pathlib import Path

import pytest

from mobius_cli.runtime.session import OnnxModel
from tests.support.any_arch import write_arch
from tests.support.arch_cases import all_cases
from tests.support.cli import mobius
from tests.support.genai import genai_greedy
from tests.support.oracle import require_llama
from tests.support.runner import prompt

require_llama()
COUNT = 32
END = 0  # where a file names no token that ends a text, onnxruntime-genai takes this one
KINDS = (
    "qwen35: usual", "lfm2: usual", "lfm2: attention first and last, long convolution", "mamba: usual", "jamba: usual",
)  # fmt: skip


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
@pytest.mark.parametrize("kind", KINDS)
def test_greedy_tokens(tmp_path: Path, kind: str, ep: str) -> None:
    """Layers with a cache, with a convolution alone, and with both states."""
    pytest.importorskip("onnxruntime_genai")
    path = write_arch(tmp_path / "t.gguf", all_cases()[kind])
    done = mobius("convert", path, "-o", tmp_path / "out", "--ep", ep)
    assert done.exit_code == 0, done.stderr
    ids = prompt(20, 320)
    ours = list(OnnxModel(tmp_path / "out", threads=1).greedy(ids, COUNT))
    assert len(set(ours)) > COUNT // 4
    found = genai_greedy(tmp_path / "out", ids, COUNT)
    assert found == (ours[: ours.index(END) + 1] if END in ours else ours)
    assert len(found) > COUNT // 2
