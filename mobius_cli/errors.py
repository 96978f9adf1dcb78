"""From exceptions to what a person reads and what a script gets: an exit code, and with --json an object."""

import functools
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import typer

P = ParamSpec("P")
R = TypeVar("R")
INTERRUPTED = 130


def reported(command: Callable[P, R]) -> Callable[P, R]:
    """Turn every exception of a command into one or two lines on stderr and an exit code.

    1 refused or diverged, 2 usage or unreadable input, 130 interrupted. With --json the same words are on stdout too,
    as an object. MOBIUS_DEBUG=1 shows tracebacks.
    """

    @functools.wraps(command)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (typer.Exit, typer.BadParameter):
            raise
        except BrokenPipeError:  # the reader of our output went away, as `| head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except (Exception, KeyboardInterrupt) as error:
            failure = described(error)
            if os.environ.get("MOBIUS_DEBUG") and failure.exit_code != INTERRUPTED:
                raise
            failure.say()
            if kwargs.get("as_json"):
                say_as_json(failure)
            raise typer.Exit(failure.exit_code) from None

    return wrapper


@dataclass(frozen=True)
class Failure:
    """What came of a command that failed."""

    message: str
    hint: str
    exit_code: int

    def say(self) -> None:
        """An error in one line on stderr, and what to do in another."""
        sys.stderr.write(f"error: {_one_line(self.message)}\n")
        if self.hint:
            sys.stderr.write(f"hint: {_one_line(self.hint)}\n")

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"message": _one_line(self.message), "hint": _one_line(self.hint), "exit_code": self.exit_code}


def described(error: BaseException) -> Failure:
    """What an exception means for the user."""
    from repack.errors import MobiusError

    if isinstance(error, MobiusError):
        return Failure(error.message, error.hint, error.exit_code)
    if isinstance(error, KeyboardInterrupt):
        return Failure("interrupted", "", INTERRUPTED)
    if isinstance(error, MemoryError):
        return Failure("not enough memory", "close other programs, or use a smaller model or --context-length", 1)
    if isinstance(error, ImportError):
        missing = f"a package is missing: {error.name or error}"
        return Failure(missing, "pip install 'mobius-cli[cpu]' (or [gpu])", 1)
    return Failure(f"internal error: {type(error).__name__}: {error}", "set MOBIUS_DEBUG=1, and report it", 1)


def say_as_json(failure: Failure) -> None:
    """The same for a script: the one object that a command with --json prints when it fails."""
    sys.stdout.write(json.dumps({"error": failure.as_dict()}, ensure_ascii=False) + "\n")


def _one_line(text: str) -> str:
    return " ".join(text.split())
