"""The chat on a terminal of its own, with a model: an interrupt in the middle of an answer, and at the prompt."""

import contextlib
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import mobius
from tests.support.tiny import write_tiny

SECONDS = 60  # longest wait
EOS = 262  # of a tiny "bpe" vocabulary; suppressed, so that an answer fills the context


class Chat:
    """`mobius run` on a terminal."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "mobius_cli", "run", str(folder), "-t", "1", *options]
        self._process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),  # which becomes the controlling terminal
            env=os.environ | {"TERM": "dumb"},
        )  # fmt: skip
        os.close(theirs)
        self.text = ""

    def wait_for(self, pattern: str) -> str:
        """Read until there is such a text; what came until its end, which is taken away."""
        end = time.monotonic() + SECONDS
        while (found := re.search(pattern, self.text)) is None:
            assert select.select([self._ours], [], [], max(0, end - time.monotonic()))[0], f"only {self.text[-300:]!r}"
            self.text += os.read(self._ours, 1 << 16).decode(errors="replace")
        before, self.text = self.text[: found.end()], self.text[found.end() :]
        return before

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def interrupt(self) -> int:
        """Ctrl-C until it ends: one that comes while a prompt is being shown waits for the next key."""
        for _ in range(5):
            self.press("\x03")
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self._process.wait(10)
        raise AssertionError("it did not end")

    def code(self) -> int:
        return self._process.wait(SECONDS)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("terminal")
    keys = {"tokenizer.chat_template": "{% for m in messages %}[{{ m.content }}]{% endfor %}",
            "tokenizer.ggml.suppress_tokens": [EOS]}  # fmt: skip
    path = write_tiny(base / "t.gguf", "llama", types="Q8_0", tokenizer="bpe", n_ctx=8192, extra_metadata=keys)
    assert mobius("convert", path, "-o", base / "d", "--ep", "cpu").exit_code == 0
    return base / "d"


@pytest.fixture
def chat(folder: Path) -> Iterator[Chat]:
    found = Chat(folder)
    yield found
    found.close()


def test_ctrl_c_stops_an_answer_and_at_the_prompt_the_chat(chat: Chat) -> None:
    chat.wait_for(">>> ")
    chat.press("hello\r")
    chat.wait_for("hello\r?\n.")
    chat.press("\x03")
    chat.wait_for(r"\[stopped: for the next turn, this was all that was said\]\r?\n>>> ")
    chat.press("/clear\r")
    chat.wait_for(r"\[a new conversation\]\r?\n>>> ")
    assert chat.interrupt() == 130
    assert "Traceback" not in chat.text


def test_ctrl_d_ends_it(chat: Chat) -> None:
    chat.wait_for(">>> ")
    chat.press("\x04")
    assert chat.code() == 0
