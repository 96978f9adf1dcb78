"""A chat template in a process of its own: one that never comes to an end is stopped, whatever it does."""

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any, Self

from converters.tokenizer import engine
from repack.errors import MobiusError

_NO_TEMPLATE = "`mobius run --raw` takes none; a file without tokenizer.chat_template can be converted"


class TemplateRefusalError(MobiusError):
    """The template does not take these messages, or is no template."""


class TemplateProcess:
    """A template, for a `with` statement, in which it may take some seconds.

    A thread cannot be stopped, and Jinja's sandbox neither counts steps nor memory: hence a process.
    """

    def __init__(self, template: str) -> None:
        self._template = template

    def __enter__(self) -> Self:
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", engine.__file__],  # -P: the modules beside it are not to be found first
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise MobiusError(f"chat template: cannot start {sys.executable} ({error.strerror})") from error
        self._late = threading.Event()
        self._timer = threading.Timer(engine.SECONDS, self._stop)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what was not written yet to an engine that is gone
                if pipe is not None:
                    pipe.close()

    def _stop(self) -> None:
        self._late.set()
        self._process.kill()

    def render(self, variables: Mapping[str, Any]) -> str:
        """The text with these variables.

        Raises:
            TemplateRefusalError: there is none.
            MobiusError: it never came.
        """
        line = self._ask({"template": self._template, "variables": dict(variables)})
        if not line.endswith(b"\n"):
            reason = f"no text after {engine.SECONDS} s" if self._late.is_set() else "the template engine broke down"
            raise _endless(reason)
        answer: dict[str, str] = json.loads(line)
        if "text" in answer:
            return answer["text"]
        if answer["error"] == "endless":
            raise _endless(answer["message"])
        if answer["error"] == "syntax":
            raise TemplateRefusalError(f"the chat template has an error in {answer['message']}")
        raise TemplateRefusalError(
            f"the chat template refuses these messages: {answer['message']}", "look at the order and names of the roles"
        )

    def _ask(self, request: dict[str, Any]) -> bytes:
        """The answer, cut off if the engine is stopped."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            return self._process.stdout.readline()
        except OSError:
            return b""


def _endless(reason: str) -> MobiusError:
    return MobiusError(f"the chat template does not come to an end: {reason}", _NO_TEMPLATE)
