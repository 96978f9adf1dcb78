"""Templates that would never come to an end: a clear error soon, and no process left."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from converters.tokenizer import engine, template_process
from converters.tokenizer.chat import render_chat
from converters.tokenizer.template_process import TemplateProcess
from repack.errors import MobiusError
from tests.support.cli import mobius
from tests.support.tiny import write_tiny

SHOWN = "{{ messages[-1].content }}"
# What each of them ends with, and after how many seconds at most.
ENDLESS = {
    "calls itself": ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}" + SHOWN, "calls itself again"),
    "nested ranges": (
        "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}"
        "{% endfor %}" + SHOWN,
        f"no text after {engine.SECONDS} s",
    ),
    "a number without end": ("{{ 9 ** (9 ** 9) }}" + SHOWN, f"no text after {engine.SECONDS} s"),
    "memory": (
        "{% set n = namespace(t='ab') %}{% for a in range(60) %}{% set n.t = n.t ~ n.t %}{% endfor %}{{ n.t }}",
        "memory",
    ),
    "long": ("{% for a in range(9999) %}{{ 'x' * 9999 }}{% endfor %}" + SHOWN, "its text has 99,9"),
    "two that call each other": (
        "{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}{{ f() }}", "calls itself again",
    ),
    "deep": ("{{ " + "(" * 9999 + "1" + ")" * 9999 + " }}" + SHOWN, "nests too deeply"),
}  # fmt: skip


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    processes: list[subprocess.Popen[bytes]] = []

    class Watched(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            processes.append(self)

    monkeypatch.setattr(template_process.subprocess, "Popen", Watched)
    return processes


@pytest.mark.skipif(sys.platform == "win32", reason="memory is not limited there")
@pytest.mark.parametrize("name", ENDLESS)
def test_they_end(name: str, started: list[subprocess.Popen[bytes]]) -> None:
    template, reason = ENDLESS[name]
    begin = time.monotonic()
    with pytest.raises(MobiusError, match="does not come to an end") as caught:
        render_chat(template, [{"role": "user", "content": "Hi"}], bos_token="", eos_token="")
    assert time.monotonic() - begin < engine.SECONDS + 3
    assert reason in caught.value.message
    assert "--raw" in caught.value.hint
    assert len(caught.value.message) < 200
    assert [process.returncode is not None for process in started] == [True]


@pytest.mark.parametrize("name", ["calls itself", "nested ranges"])
def test_convert_ends_too(name: str, tmp_path: Path, started: list[subprocess.Popen[bytes]]) -> None:
    path = write_tiny(
        tmp_path / "m.gguf", "llama", tokenizer="bpe", extra_metadata={"tokenizer.chat_template": ENDLESS[name][0]}
    )
    begin = time.monotonic()
    done = mobius("convert", path, "-o", tmp_path / "onnx")
    assert time.monotonic() - begin < engine.SECONDS + 5
    assert (done.exit_code, done.stderr.count("\n")) == (1, 2), done.stderr
    assert "the chat template does not come to an end" in done.stderr
    assert not (tmp_path / "onnx").exists()
    assert all(process.returncode is not None for process in started)


def test_a_range_that_is_too_long_is_refused() -> None:
    with pytest.raises(MobiusError, match="refuses these messages: Range too big"):
        render_chat("{{ range(10 ** 9) | list }}", [{"role": "user", "content": "a"}], bos_token="", eos_token="")


def test_a_long_prompt_is_no_endless_one(started: list[subprocess.Popen[bytes]]) -> None:
    text = "ab é 你好 \ud83d" * 200_000
    template = "{% for m in messages %}[{{ m.content | trim }}]{% endfor %}"
    assert render_chat(template, [{"role": "user", "content": text}], bos_token="", eos_token="") == f"[{text}]"
    assert len(started) == 1
    assert started[0].returncode is not None


def test_one_process_for_many_texts(started: list[subprocess.Popen[bytes]]) -> None:
    with TemplateProcess("{{ a }}") as process:
        assert [process.render({"a": i}) for i in range(20)] == [str(i) for i in range(20)]
        assert started[0].poll() is None
    assert len(started) == 1
    assert started[0].returncode is not None


def test_an_engine_that_breaks_down() -> None:
    with TemplateProcess("a") as process:
        process._process.kill()
        process._process.wait()
        with pytest.raises(MobiusError, match="the template engine broke down"):
            process.render({})
        with pytest.raises(MobiusError, match="the template engine broke down"):
            process.render({})


def test_an_engine_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(MobiusError, match="cannot start /nowhere/python"), TemplateProcess("a"):
        pass
