"""`scripts/clients.py`: how a client's tokens are judged, and decoding as its bare runtimes do it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

from tests.support.cli import mobius
from tests.support.tiny import write_tiny

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts" / "client_kit")]
import clients  # noqa: E402
from client_kit.jobs import make_job  # noqa: E402
from client_kit.judge import UNDECIDED, Judge  # noqa: E402
from greedy import greedy  # noqa: E402

TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
NODE_MODULES = "MOBIUS_NODE_MODULES"  # where @huggingface/transformers is installed; CI has no such folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A tiny model in the hub layout, by target."""
    base = tmp_path_factory.mktemp("clients")
    chat = {"tokenizer.chat_template": TEMPLATE}
    write_tiny(base / "t.gguf", "llama", types={".": "Q8_0"}, tokenizer="bpe", n_vocab=320, extra_metadata=chat)
    for target, options in clients.TARGETS.items():
        done = mobius("convert", base / "t.gguf", "-o", base / target, "--layout", "hub", *options)
        assert done.exit_code == 0, done.stderr
    return {target: base / target for target in clients.TARGETS}


def judge_of(folder: Path) -> tuple[Judge, dict[str, Any]]:
    asked = make_job(folder, Path("none"))
    return Judge(folder, asked["ids"], asked["count"]), asked


def expected(judge: Judge, test: str) -> list[list[int]]:
    return [list(judge.model.greedy(ids, judge.count)) for ids in judge.ids[test]]


@pytest.mark.parametrize("test", ["text", "batch", "chat"])
def test_the_tokens_of_mobius_pass(folders: dict[str, Path], test: str) -> None:
    judge, asked = judge_of(folders["onnx"])
    assert len(judge.ids["batch"]) == 3 and len(set(map(len, judge.ids["batch"]))) == 3
    assert len(judge.ids["chat"]) == 2 and len(asked["chats"]) == 2
    found = {"prompts": judge.ids[test], "tokens": expected(judge, test)}
    assert judge.verdict(test, found) == "pass"
    after_the_end = [row + [next(iter(judge.stops))] * 3 if row[-1] in judge.stops else row for row in found["tokens"]]
    assert judge.verdict(test, {"tokens": after_the_end}) == "pass"


def test_what_fails(folders: dict[str, Path]) -> None:
    judge, _ = judge_of(folders["onnx"])
    right = expected(judge, "batch")
    row = judge.model.logits(judge.ids["batch"][1])[-1]
    worst = [right[0], [int(row.argmin())] * judge.count, right[2]]
    assert judge.verdict("batch", {"tokens": worst}).startswith("FAIL: off by ")
    assert judge.verdict("batch", {"tokens": right[:2]}) == "FAIL: 2 rows, not 3"
    assert judge.verdict("batch", {"tokens": [right[0], right[1][:3], right[2]]}) == "FAIL: off by inf"
    other = [judge.ids["batch"][0], [1, 2, 3], judge.ids["batch"][2]]
    assert judge.verdict("batch", {"prompts": other, "tokens": right}).startswith("FAIL: prompt 1 has other ids")
    assert judge.verdict("batch", {"error": "Error: it broke\nhere"}) == "FAIL: Error: it broke"
    assert judge.verdict("checker", {"ok": False, "note": "no"}) == "FAIL: no"
    assert judge.verdict("checker", {"ok": True}) == "pass"


@pytest.mark.parametrize(("distance", "word"), [(0.0, "pass, undecided by 0.000"), (UNDECIDED - 0.1, "pass, undecided"),
                                                (UNDECIDED + 0.1, "FAIL: off")])  # fmt: skip
def test_another_choice_counts_by_its_distance(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, distance: float, word: str
) -> None:
    judge, _ = judge_of(folders["onnx"])
    judge.count = 1
    best = expected(judge, "text")[0][0]
    rows = np.zeros((1, 320), np.float32)
    rows[0, best] = distance
    monkeypatch.setattr(judge.model, "logits", lambda ids, first: rows)
    assert judge.verdict("text", {"tokens": [[best + 1]]}).startswith(word)


@pytest.mark.parametrize(("target", "side"), [("onnx", "left"), ("onnx", "right"), ("cpu", "right")])
def test_bare_decoding_is_what_mobius_runs(folders: dict[str, Path], target: str, side: str) -> None:
    judge, asked = judge_of(folders[target])
    assert asked["side"] == ("left" if target == "onnx" else "right")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(asked["graph"], options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]

    def run(feeds: Any) -> Any:
        return dict(zip(names, session.run(names, feeds), strict=True))

    found = greedy(run, asked["states"], judge.ids["batch"], judge.count, side)
    assert judge.verdict("batch", {"tokens": found}).startswith("pass")


def test_what_a_runtime_cannot_do_is_not_a_failure() -> None:
    said = "FAIL: Error: " + "a long way to " * 20 + "Name:'model/padding_must_stand_behind_the_prompt/Gather'"
    assert clients.explained("optimum", "cpu", "batch", said).startswith("cannot: ")
    unknown = "FAIL: ValidationError: No Op registered for SimplifiedLayerNormalization with domain_version of 21"
    assert clients.explained("onnx tools", "cpu", "checker", unknown).startswith("cannot: ")
    assert clients.explained("openvino", "cpu", "", "FAIL: Exception from src/a.cpp:59:").startswith("cannot: ")
    assert clients.explained("openvino", "onnx", "", "FAIL: Exception from src/a.cpp:59:").startswith("FAIL")
    others = (
        ("optimum", "cpu", "text", said),
        ("optimum", "onnx", "batch", said),
        ("genai", "cpu", "batch", said),
        ("optimum", "cpu", "batch", "FAIL: Error: another"),
        ("optimum", "cpu", "batch", "pass"),
    )
    for other in others:
        assert clients.explained(*other) == other[-1][:160]


def test_a_client_that_is_missing_does_not_pass(tmp_path: Path) -> None:
    assert all(clients.missing(name, tmp_path) for name in clients.CLIENTS)
    shown = clients.cells({"all": "not installed"}, True)
    assert shown[:3] == ["not installed"] * 3


@pytest.mark.skipif(NODE_MODULES not in os.environ, reason=f"{NODE_MODULES} names no folder of node's packages")
@pytest.mark.parametrize("target", ["onnx", "onnx f16"])
def test_transformers_js_loads_the_hub_layout_with_no_options(
    folders: dict[str, Path], tmp_path: Path, target: str
) -> None:
    folder = folders[target]
    asked = make_job(folder, Path(os.environ[NODE_MODULES]))
    (tmp_path / "job.json").write_text(json.dumps(asked))
    program = ROOT / "scripts" / "client_kit" / "run_transformers_js.mjs"
    done = subprocess.run(["node", program, tmp_path / "job.json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    judge, _ = judge_of(folder)
    for test, found in json.loads(done.stdout.splitlines()[-1])["tests"].items():
        assert judge.verdict(test, found).startswith("pass"), (test, found)


@pytest.mark.parametrize(
    ("stdout", "stderr", "late", "wanted"),
    [
        ('{"tests": 0}\n{"tests": 1}\n', "", True, {"tests": 1}),
        ("", "", True, {"error": "no answer within 300 s"}),
        ("", "Traceback\nValueError: no\nbye", False, {"error": "ValueError: no"}),
        ("", "", False, {"error": "exit code 1"}),
        ('a word\n{"tests": 2}', "a warning", False, {"tests": 2}),
    ],
)
def test_a_late_client_is_judged_by_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stdout: str, stderr: str, late: bool, wanted: dict[str, Any]
) -> None:
    def run(command: Any, timeout: float, **_: Any) -> Any:
        if late:
            raise subprocess.TimeoutExpired(command, timeout, stdout.encode() or None)
        return subprocess.CompletedProcess(command, 1, stdout.encode(), stderr.encode())

    monkeypatch.setattr(clients.subprocess, "run", run)
    assert clients.answer("genai", tmp_path / "job.json", tmp_path) == wanted
