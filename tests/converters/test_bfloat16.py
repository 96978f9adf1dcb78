"""bfloat16 graphs: every number is rounded once, and said to be; only a GPU runs them."""

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest

from converters.graph.onnx_file import write_graph
from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from repack.errors import MobiusError
from tests.support.any_arch import write_arch
from tests.support.arch_cases import all_cases
from tests.support.tiny import write_tiny


def test_numbers_are_rounded_once_and_counted(tmp_path: Path) -> None:
    """Also scales that the file has as float16: a Cast in the graph would round them in silence."""
    path = write_tiny(tmp_path / "t.gguf", "llama", types={"norm": "F32", "attn_q": "Q8_0", ".": "Q4_K"})
    with GgufFile.open(path) as source:
        half = make_plan(source, choose_target("cuda"))
        plan = make_plan(source, choose_target("cuda", dtype="bf16"))
        write_graph(plan.graph, tmp_path, {}, ("test", "0"))
        exact = half.graph.initializers["blk.0.attn_q.weight.scale"].compute
        assert exact is not None
        wanted = exact().astype(ml_dtypes.bfloat16)
    model = onnx.load(tmp_path / "model.onnx")
    stored = next(i for i in model.graph.initializer if i.name == "blk.0.attn_q.weight.scale")
    assert stored.data_type == onnx.TensorProto.BFLOAT16
    assert np.array_equal(onnx.numpy_helper.to_array(stored).view(np.uint16), wanted.view(np.uint16))
    for tensor, kind in (("blk.0.attn_q", "scale"), ("blk.0.ffn_up", "offset"), ("blk.0.attn_norm", "weight")):
        note = plan.weights.records[f"{tensor}.weight"].roundings[kind]
        assert 0 < note.rounded <= note.count
        assert 2**-10 < note.max_relative_error <= 2**-8
    assert {value.type.tensor_type.elem_type for value in model.graph.output[1:]} == {onnx.TensorProto.BFLOAT16}


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
def test_only_on_gpus(ep: str) -> None:
    with pytest.raises(MobiusError, match="--dtype bfloat16 cannot run on"):
        choose_target(ep, dtype="bf16")


@pytest.mark.parametrize(
    ("name", "what"),
    [("bloom: usual", "ALiBi"), ("llama: heads of 60", "heads of 60 channels"), ("llama: heads of 72", "")],
)
def test_widened_heads_are_refused(tmp_path: Path, name: str, what: str) -> None:
    """ONNX Runtime could not load the graph: it has no Pad of bfloat16. With float16 the same model is fine."""
    path = write_arch(tmp_path / "t.gguf", all_cases()[name])
    with GgufFile.open(path) as source:
        assert make_plan(source, choose_target("cuda")).graph.nodes
        if not what:
            nodes = make_plan(source, choose_target("cuda", dtype="bf16")).graph.nodes
            assert "Pad" not in {node.op_type for node in nodes}
            return
        with pytest.raises(MobiusError, match=f"--dtype bfloat16 cannot be with {what} on cuda") as error:
            make_plan(source, choose_target("cuda", dtype="bf16"))
    assert error.value.hint == "use --dtype f16 with --ep cuda, or leave out --ep and --dtype"
