"""The ONNX Runtime that a folder needs: of its target, or of what its graph has."""

from pathlib import Path

import pytest

from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from tests.support.any_arch import write_arch
from tests.support.arch_cases import all_cases
from tests.support.oracle import require_llama

require_llama()


@pytest.mark.parametrize(("kind", "ep", "version"), [
    ("llama: all biases", "onnx", "1.23.1"),  # 1.23.0 computes attention with fewer key heads wrong
    ("llama: all biases", "cpu", "1.24.1"),  # older ones see through sliding windows
    ("gemma2: gemma2 usual", "onnx", "1.27.0"),  # softcap and mask the wrong way round
    ("gemma2: gemma2 usual", "cpu", "1.24.1"),
    ("bloom: usual", "onnx", "1.25.0"),  # a mask for each head
    ("qwen35: usual", "onnx", "1.23.1"),
    ("qwen35: usual", "cpu", "1.25.1"),  # LinearAttention
    ("gemma4: shared keys and values, embeddings per layer", "onnx", "1.23.1"),
    ("gemma4: shared keys and values, embeddings per layer", "cpu", "1.31.0"),  # older ones end the process
    ("gemma4: keys as values in global layers", "cpu", "1.24.1"),
    ("gemma3n: layers that read others' keys and values", "onnx", "1.23.1"),
    ("gemma3n: layers that read others' keys and values", "cpu", "1.31.0"),
    ("gemma3n: usual", "cpu", "1.24.1"),
    ("muse-glimmer: usual", "onnx", "1.23.1"),
    ("muse-glimmer: usual", "cpu", "1.24.1"),
])  # fmt: skip
def test_versions(tmp_path: Path, kind: str, ep: str, version: str) -> None:
    """Those that scripts/oldest_runtime.py found."""
    with GgufFile.open(write_arch(tmp_path / "t.gguf", all_cases()[kind])) as source:
        plan = make_plan(source, choose_target(ep))
        assert plan.oldest_runtime == version
    # ONNX Runtime 1.23 keeps larger ones where shape inference does not find them.
    assert max(value.nbytes for value in plan.graph.initializers.values() if value.dtype == "int64") < 128
