"""The chat loop: lines in, answers out; interrupts, commands, and what it refuses."""

import builtins
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mobius_cli.app import app
from mobius_cli.commands.run import chat as module
from mobius_cli.commands.run.chat import chat
from mobius_cli.commands.run.run import Request, run_folder
from mobius_cli.output import Output
from mobius_cli.runtime.answer import Answer, End
from repack.errors import InputError
from tests.support.cli import mobius
from tests.support.tiny import write_tiny

Line = str | type[BaseException] | UnicodeDecodeError


class FakeConversation:
    """Says the text backwards, letter by letter; an interrupt comes after `presses` letters."""

    def __init__(self, end: End = "a stop token", presses: int | None = None, error: Exception | None = None) -> None:
        self.end, self.presses, self.error = end, presses, error
        self.asked: list[tuple[str, int | None]] = []
        self.cleared = 0

    def clear(self) -> None:
        self.cleared += 1

    def ask(self, text: str, say: Callable[[str], None], limit: int | None, stopped: Callable[[], bool]) -> Answer:
        self.asked.append((text, limit))
        if self.error is not None:
            raise self.error
        tokens: list[int] = []
        for letter in reversed(text):
            if len(tokens) == self.presses:
                os.kill(os.getpid(), signal.SIGINT)
            if stopped():
                return Answer([1], tokens, "", "an interrupt", 0, 0)
            say(letter)
            tokens.append(1)
        return Answer([1, 2], tokens, text, self.end, 0, 0)


def typed(monkeypatch: pytest.MonkeyPatch, *lines: Line) -> None:
    left: Iterator[Line] = iter([*lines, EOFError])

    def read(prompt: str) -> str:
        assert prompt == ">>> "
        line = next(left)
        if isinstance(line, str):
            return line
        raise line

    monkeypatch.setattr(builtins, "input", read)


def test_lines_and_answers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    typed(monkeypatch, "abc", "  ", " d/e ", "/usr/bin")
    talk: Any = FakeConversation()
    assert chat(talk, "Tiny", 9, Output()) == 0
    assert talk.asked == [("abc", 9), (" d/e ", 9), ("/usr/bin", 9)]
    out, err = capsys.readouterr()
    assert out == "cba\n e/d \nnib/rsu/\n\n"
    assert err == "Tiny\n/help lists the commands, Ctrl-C stops an answer, Ctrl-D ends\n"


def test_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    typed(monkeypatch, "/help", "/clear", "/nonsense", "/exit", "never")
    talk: Any = FakeConversation()
    assert chat(talk, "", None, Output()) == 0
    assert (talk.asked, talk.cleared) == ([], 1)
    err = capsys.readouterr().err
    assert "there is no command /nonsense" in err
    assert all(f"  {name} " in err for name in module.COMMANDS)


def test_ctrl_c_at_the_prompt_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, KeyboardInterrupt, "never")
    talk: Any = FakeConversation()
    assert chat(talk, "", None, Output()) == 130
    assert talk.asked == []


@pytest.mark.parametrize(
    ("presses", "out", "remark"),
    [
        (2, "fe\nba\n\n", "[stopped: for the next turn, this was all that was said]"),
        (0, "\n\n\n", "[stopped before the first word: what you said is forgotten]"),
    ],
)
def test_ctrl_c_stops_the_answer_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], presses: int, out: str, remark: str
) -> None:
    typed(monkeypatch, "def", "ab")
    talk: Any = FakeConversation(presses=presses)
    before = signal.getsignal(signal.SIGINT)
    assert chat(talk, "", None, Output()) == 0
    assert signal.getsignal(signal.SIGINT) is before
    assert [text for text, _ in talk.asked] == ["def", "ab"]
    found = capsys.readouterr()
    assert found.out == out
    assert remark in found.err


@pytest.mark.parametrize(
    ("end", "remark"),
    [
        ("the limit", "[cut off by the limit of 3 tokens (-n)"),
        ("the end of the context", "fills all 5 tokens of the context; /clear begins"),
    ],
)
def test_cut_off(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], end: End, remark: str) -> None:
    typed(monkeypatch, "abc")
    talk: Any = FakeConversation(end)
    chat(talk, "", None, Output())
    assert remark in capsys.readouterr().err


def test_an_error_ends_the_turn_only(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    typed(monkeypatch, UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"), "\udcff", "a", "b")
    talk: Any = FakeConversation(error=InputError("too long", "/clear begins anew"))
    assert chat(talk, "", None, Output()) == 0
    assert [text for text, _ in talk.asked] == ["a", "b"]
    err = capsys.readouterr().err
    assert err.count("error: too long\nhint: /clear begins anew\n") == 2
    assert err.count("not valid UTF-8") == 2


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("chat")
    template = {"tokenizer.chat_template": "{% for m in messages %}[{{ m.content }}]{% endfor %}"}
    for name, keys in {"with": template, "without": {}}.items():
        path = write_tiny(base / f"{name}.gguf", "llama", types="Q8_0", tokenizer="bpe", extra_metadata=keys)
        assert mobius("convert", path, "-o", base / name).exit_code == 0
    return {name: base / name for name in ("with", "without")}


def test_with_a_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folders: dict[str, Path]
) -> None:
    typed(monkeypatch, "hello", "the")
    assert run_folder(Request(folders["with"], None, tokens=3, threads=1), Output()) == 0
    out, err = capsys.readouterr()
    assert len(out) >= 3
    assert err.count("cut off by the limit of 3 tokens") == 2


def test_without_a_template_there_is_no_chat(folders: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="no chat template, and a text that is continued is no chat") as refused:
        run_folder(Request(folders["without"], None), Output())
    assert "mobius run" in refused.value.hint


@pytest.mark.parametrize(
    ("arguments", "message"), [(["--json"], "--json answers one prompt"), (["--raw"], "--raw continues a text"),
                               ([], "a chat needs a terminal")],
)  # fmt: skip
def test_where_there_can_be_no_chat(
    monkeypatch: pytest.MonkeyPatch, folders: dict[str, Path], arguments: list[str], message: str
) -> None:
    """As on a terminal, but for stdout."""
    from mobius_cli.commands.run import options

    class Terminal:
        def isatty(self) -> bool:
            return True

    class Streams:
        stdin = Terminal()

        @property
        def stdout(self) -> Any:
            return sys.stdout

    monkeypatch.setattr(options, "sys", Streams())
    done = CliRunner().invoke(app, ["run", str(folders["with"]), *arguments])
    assert done.exit_code == 2
    assert message in done.stderr
