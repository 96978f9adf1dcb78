"""`genai_config.json` and the manifest's states say what the graph has."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest

from converters.folder.configs import genai_config
from converters.folder.manifest import read_manifest
from converters.graph.states import BATCH, PAST_LENGTH, State
from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from converters.tokenizer.export import TokenizerFiles
from tests.support.cli import mobius
from tests.support.tiny import write_tiny


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("configs") / "t.gguf", "gemma3", types="Q8_0", tokenizer="spm")


def graph_values(values: Any) -> dict[str, tuple[str, tuple[int | str, ...]]]:
    found = {}
    for value in values:
        kind = value.type.tensor_type
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name
        found[value.name] = (dtype, tuple(d.dim_param or d.dim_value for d in kind.shape.dim))
    return found


@pytest.mark.parametrize(
    ("options", "in_place", "normed"),
    [((), False, False), (("--dtype", "f16"), False, False), (("--ep", "cpu"), True, False),
     (("--ep", "cuda"), True, True), (("--ep", "cuda", "--dtype", "bf16"), True, True)],
)  # fmt: skip
def test_states_are_the_graphs(
    tiny: Path, tmp_path: Path, options: tuple[str, ...], in_place: bool, normed: bool
) -> None:
    done = mobius("convert", tiny, "-o", tmp_path / "a", *options)
    assert done.exit_code == 0, done.stderr
    manifest = read_manifest(tmp_path / "a")
    graph = onnx.load(tmp_path / "a" / "model.onnx", load_external_data=False).graph
    inputs, outputs = graph_values(graph.input), graph_values(graph.output)
    assert [s.input for s in manifest.states] == [
        name for name in inputs if name not in ("input_ids", "attention_mask")
    ]
    assert [s.output for s in manifest.states] == [name for name in outputs if name != "logits"]
    for state in manifest.states:
        assert inputs[state.input] == (state.dtype, state.shape)
        assert outputs[state.output][0] == state.dtype
        assert state.in_place == in_place
    assert manifest.in_place == in_place
    assert manifest.target.norms_heads == normed
    config = json.loads((tmp_path / "a" / "genai_config.json").read_text())
    decoder = config["model"]["decoder"]
    shape = manifest.states[0].shape
    assert (decoder["num_key_value_heads"], decoder["head_size"]) == (shape[1], shape[3])
    assert decoder["num_hidden_layers"] == len(manifest.states) / 2
    for side, names in (("past", [s.input for s in manifest.states]), ("present", [s.output for s in manifest.states])):
        found = decoder["inputs" if side == "past" else "outputs"]
        templates = [found[f"{side}_{part}_names"] for part in ("key", "value")]
        assert [template % n for n in range(len(names) // 2) for template in templates] == names
    assert config["search"]["past_present_share_buffer"] is in_place


def test_parts_of_other_states(tiny: Path) -> None:
    """What has positions has a template, the rest is found by its name; layers with states are counted."""
    cache, window = (BATCH, 2, PAST_LENGTH, 64), (BATCH, 96, 3)
    states = [State("conv_state", 0, 0, "float32", window, False), State("key", 1, 3, "float32", cache, True),
              State("value", 1, 3, "float32", cache, True)]  # fmt: skip
    with GgufFile.open(tiny) as source:
        plan = replace(make_plan(source, choose_target("cpu")), states=tuple(states))
    config = genai_config(plan, TokenizerFiles())
    decoder = config["model"]["decoder"]
    assert decoder["num_hidden_layers"] == 2
    assert (decoder["num_key_value_heads"], decoder["head_size"]) == (2, 64)
    assert list(decoder["inputs"])[2:] == ["past_key_names", "past_value_names"]
    assert list(decoder["outputs"])[1:] == ["present_key_names", "present_value_names"]
    assert config["search"]["past_present_share_buffer"] is False


@pytest.mark.parametrize(
    ("layers", "types"),
    [
        ((("conv_state",), ("key", "value")), ["conv", "full_attention"]),
        ((("key", "value"), ("conv_state", "recurrent_state"), ("conv_state",)),
         ["full_attention", "linear_attention", "conv"]),
        ((("conv_state", "recurrent_state"), ("key", "value")), None),
    ],
)  # fmt: skip
def test_layers_that_keep_a_convolution_alone(
    tiny: Path, layers: tuple[tuple[str, ...], ...], types: list[str] | None
) -> None:
    """onnxruntime-genai looks for both states, or for a cache, in a layer that it was not told about."""
    shape = {"key": (BATCH, 2, PAST_LENGTH, 64), "value": (BATCH, 2, PAST_LENGTH, 64)}
    states = tuple(
        State(part, index, 2 * index, "float32", shape.get(part, (BATCH, 96, 3)), True)
        for index, parts in enumerate(layers)
        for part in parts
    )
    with GgufFile.open(tiny) as source:
        plan = replace(make_plan(source, choose_target("cpu")), states=states)
    assert genai_config(plan, TokenizerFiles())["model"]["decoder"].get("layer_types") == types
