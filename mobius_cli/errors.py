"""From exceptions to what a person reads and what a script gets: an exit code, and with --json an object."""

import functools
import json
import os
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

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
        from repack.errors import MobiusError

        def end(message: str, hint: str, exit_code: int) -> typer.Exit:
            if exit_code != INTERRUPTED:
                _debug()
            say(message, hint)
            if kwargs.get("as_json"):
                say_as_json(message, hint, exit_code)
            return typer.Exit(exit_code)

        try:
            return command(*args, **kwargs)
        except (typer.Exit, typer.BadParameter):
            raise
        except MobiusError as error:
            raise end(error.message, error.hint, error.exit_code) from None
        except KeyboardInterrupt:
            raise end("interrupted", "", INTERRUPTED) from None
        except BrokenPipeError:  # the reader of our output went away, as `| head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except MemoryError:
            hint = "close other programs, or use a smaller model or --context-length"
            raise end("not enough memory", hint, 1) from None
        except ImportError as error:
            hint = "pip install 'mobius-cli[cpu]' (or [gpu])"
            raise end(f"a package is missing: {error.name or error}", hint, 1) from None
        except Exception as error:
            hint = "set MOBIUS_DEBUG=1, and report it"
            raise end(f"internal error: {type(error).__name__}: {error}", hint, 1) from None

    return wrapper


def say(message: str, hint: str) -> None:
    """An error in one line on stderr, and what to do in another."""
    sys.stderr.write(f"error: {_one_line(message)}\n")
    if hint:
        sys.stderr.write(f"hint: {_one_line(hint)}\n")


def say_as_json(message: str, hint: str, exit_code: int) -> None:
    """The same for a script: the one object that a command with --json prints when it fails."""
    error = {"message": _one_line(message), "hint": _one_line(hint), "exit_code": exit_code}
    sys.stdout.write(json.dumps({"error": error}, ensure_ascii=False) + "\n")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _debug() -> None:
    if os.environ.get("MOBIUS_DEBUG"):
        raise  # what the caller is handling
