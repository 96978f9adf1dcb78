"""`mobius convert --layout hub`: the same folder with the graph where model hubs' programs look for it."""

import json
import shutil
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.mobius_cli.commands.test_convert import FILES
from tests.support.cli import contents, mobius
from tests.support.genai import genai_greedy
from tests.support.tiny import write_tiny

GRAPH = {"model.onnx", "model.onnx_data"}
WAYS: dict[str, tuple[tuple[str, ...], str, str]] = {  # options, the graph's file, transformers.js' name of the type
    "onnx": ((), "model.onnx", "fp32"),
    "onnx float16": (("--dtype", "f16"), "model_fp16.onnx", "fp16"),
    "cpu": (("--ep", "cpu"), "model.onnx", "fp32"),
    "cuda": (("--ep", "cuda"), "model_fp16.onnx", "fp16"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`t.gguf`, and a folder in each layout for each way: `hub cpu`, `flat cpu`."""
    base = tmp_path_factory.mktemp("layout")
    write_tiny(base / "t.gguf", "llama", types={".": "Q8_0"}, tokenizer="bpe", n_vocab=320)
    for name, (options, _, _) in WAYS.items():
        for layout in ("flat", "hub"):
            done = mobius("convert", base / "t.gguf", "-o", base / f"{layout} {name}", "--layout", layout, *options)
            assert done.exit_code == 0, done.stderr
    return base


@pytest.mark.parametrize("name", WAYS)
def test_only_the_graph_moves(made: Path, name: str) -> None:
    _, file, dtype = WAYS[name]
    flat, hub = contents(made / f"flat {name}"), contents(made / f"hub {name}")
    assert set(flat) == FILES
    assert set(hub) == FILES - GRAPH | {f"onnx/{file}", f"onnx/{file}_data"}
    assert hub[f"onnx/{file}_data"] == flat["model.onnx_data"]
    graph = onnx.load_model_from_string(hub[f"onnx/{file}"])
    places = {entry.value for i in graph.graph.initializer for entry in i.external_data if entry.key == "location"}
    assert places == {f"{file}_data"}
    genai = json.loads(hub["genai_config.json"])
    assert genai["model"]["decoder"].pop("filename") == f"onnx/{file}"
    plain = json.loads(flat["genai_config.json"])
    assert plain["model"]["decoder"].pop("filename") == "model.onnx"
    assert genai == plain
    for files, told in ((hub, dtype), (flat, "fp32")):  # "fp32": the name without an addition
        config = json.loads(files["config.json"])
        assert config["transformers.js_config"] == {"dtype": told, "use_external_data_format": True}
    files = json.loads(hub["mobius.json"])["files"]
    assert files == {path: len(content) for path, content in hub.items() if path != "mobius.json"}


def test_flat_is_the_default(made: Path, tmp_path: Path) -> None:
    assert mobius("convert", made / "t.gguf", "-o", tmp_path / "a").exit_code == 0
    assert contents(tmp_path / "a") == contents(made / "flat onnx")


@pytest.mark.parametrize("name", ["onnx", "onnx float16", "cpu"])
def test_our_commands_read_it(made: Path, name: str) -> None:
    """run, bench and inspect say of both layouts the same."""
    said = {}
    for layout in ("flat", "hub"):
        folder = made / f"{layout} {name}"
        run = mobius("run", folder, "-p", "ab", "--raw", "-n", 8, "-t", 1, "--json")
        assert run.exit_code == 0, run.stderr
        bench = mobius("bench", folder, "-p", 4, "-n", 0, "-r", 1, "-t", 1, "--json")
        assert bench.exit_code == 0, bench.stderr
        inspect = mobius("inspect", folder, "--json")
        assert inspect.exit_code == 0, inspect.stderr
        facts = json.loads(inspect.stdout)
        said[layout] = [json.loads(run.stdout)["text"], json.loads(bench.stdout)["model_size"], facts["types"],
                        facts["states"]]  # fmt: skip
    assert said["flat"] == said["hub"]


def test_genai_reads_it(made: Path) -> None:
    pytest.importorskip("onnxruntime_genai")
    for name in ("onnx", "cpu"):
        assert genai_greedy(made / f"hub {name}", [5, 6, 7], 8) == genai_greedy(made / f"flat {name}", [5, 6, 7], 8)


@pytest.mark.parametrize(("old", "new"), [("flat", "hub"), ("hub", "flat"), ("hub", "hub")])
def test_a_folder_is_rewritten(made: Path, tmp_path: Path, old: str, new: str) -> None:
    for target in ("onnx", "cpu"):
        options = WAYS[target][0]
        done = mobius("convert", made / f"{old} cpu", "-o", tmp_path / target, "--layout", new, *options)
        assert done.exit_code == 0, done.stderr
        assert contents(tmp_path / target) == contents(made / f"{new} {target}")


@pytest.mark.parametrize(("old", "new"), [("flat", "hub"), ("hub", "flat")])
def test_a_folder_is_replaced_by_another_layout(made: Path, tmp_path: Path, old: str, new: str) -> None:
    """Also onto itself, while its weights are mapped; nothing of the old layout stays, no empty folder either."""
    shutil.copytree(made / f"{old} onnx", tmp_path / "a")
    for source in (made / "t.gguf", tmp_path / "a"):
        done = mobius("convert", source, "-o", tmp_path / "a", "--layout", new, "--force")
        assert done.exit_code == 0, done.stderr
        assert contents(tmp_path / "a") == contents(made / f"{new} onnx")
        assert (tmp_path / "a" / "onnx").exists() == (new == "hub")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("manifest", ["whole", "cut"])
def test_a_file_of_the_user_beside_the_graph_is_kept(made: Path, tmp_path: Path, manifest: str) -> None:
    shutil.copytree(made / "hub onnx", tmp_path / "a")
    (tmp_path / "a" / "onnx" / "model_q4.onnx").write_text("mine")
    if manifest == "cut":
        (tmp_path / "a" / "mobius.json").write_text("{")
    done = mobius("convert", made / "t.gguf", "-o", tmp_path / "a", "--force")
    assert done.exit_code == 2
    assert "mobius did not write onnx/model_q4.onnx in it" in done.stderr
    assert (tmp_path / "a" / "onnx" / "model_q4.onnx").read_text() == "mine"
    (tmp_path / "a" / "onnx" / "model_q4.onnx").unlink()
    assert mobius("convert", made / "t.gguf", "-o", tmp_path / "a", "--force").exit_code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [(("--layout", "deep"), "--layout 'deep' is not known"),
     (("--layout", "hub", "--ep", "cuda", "--dtype", "bf16"), "has no file name for bfloat16")],
)  # fmt: skip
def test_refusals(made: Path, tmp_path: Path, options: tuple[Any, ...], words: str) -> None:
    done = mobius("convert", made / "t.gguf", "-o", tmp_path / "a", *options)
    assert done.exit_code == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 2
    assert not (tmp_path / "a").exists()


def test_a_damaged_graph_is_named_with_its_folder(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "hub onnx", tmp_path / "a")
    graph = tmp_path / "a" / "onnx" / "model.onnx"
    graph.write_bytes(b"\xff" * graph.stat().st_size)
    for rest in (("run", tmp_path / "a", "-p", "x", "--raw"), ("convert", tmp_path / "a", "-o", tmp_path / "b")):
        done = mobius(*rest)
        assert done.exit_code == 2, done.stderr
        assert "a/onnx/model.onnx" in done.stderr
