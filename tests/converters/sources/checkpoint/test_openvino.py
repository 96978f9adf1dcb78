"""Integers with zero points and columns of their own order in OpenVINO, from the target for any runtime."""

from pathlib import Path

import numpy as np
import pytest

from converters.graph.onnx_file import write_graph
from converters.plan import make_plan
from converters.sources.open import open_source
from converters.target import choose_target
from tests.converters.sources.checkpoint.test_integers import model
from tests.converters.test_portable import feeds_of
from tests.support import checkpoint as tiny
from tests.support.any_arch import llama_logits
from tests.support.int4 import FORMS
from tests.support.openvino_child import openvino_logits
from tests.support.runner import prompt


@pytest.mark.parametrize("name", ["ct asymmetric", "ct 8 bit", "awq", "gptq ordered", "gptq 2 bit"])
def test_logits(tmp_path: Path, name: str) -> None:
    pytest.importorskip("openvino")
    config, tensors, _, weights = model("llama", FORMS[name])
    folder, ids = tiny.write_checkpoint(tmp_path / "model", config, tensors), prompt(20, tiny.VOCAB)
    wanted = llama_logits(tiny.write_gguf(tmp_path / "f32.gguf", "llama", weights), ids, 256)
    with open_source(folder) as source:
        plan = make_plan(source, choose_target("onnx"))
        write_graph(plan.graph, tmp_path, {}, ("test", "0"))
    found = openvino_logits(tmp_path / "model.onnx", feeds_of(plan.states, ids))[0]
    np.testing.assert_allclose(found, wanted, atol=1e-3)
