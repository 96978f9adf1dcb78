"""From exceptions to what a person reads and what a script gets as exit code."""

import functools
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

    1 refused or diverged, 2 usage or unreadable input, 130 interrupted. MOBIUS_DEBUG=1 shows tracebacks.
    """

    @functools.wraps(command)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        from repack.errors import MobiusError

        try:
            return command(*args, **kwargs)
        except (typer.Exit, typer.BadParameter):
            raise
        except MobiusError as error:
            _debug()
            _say(error.message, error.hint)
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            _say("interrupted", "")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the reader of our output went away, as `| head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except MemoryError:
            _debug()
            _say("not enough memory", "close other programs, or use a smaller model or --context-length")
            raise typer.Exit(1) from None
        except ImportError as error:
            _debug()
            _say(f"a package is missing: {error.name or error}", "pip install 'mobius-cli[cpu]' (or [gpu])")
            raise typer.Exit(1) from None
        except Exception as error:
            _debug()
            _say(f"internal error: {type(error).__name__}: {error}", "set MOBIUS_DEBUG=1, and report it")
            raise typer.Exit(1) from None

    return wrapper


def _say(message: str, hint: str) -> None:
    sys.stderr.write(f"error: {' '.join(message.split())}\n")
    if hint:
        sys.stderr.write(f"hint: {' '.join(hint.split())}\n")


def _debug() -> None:
    if os.environ.get("MOBIUS_DEBUG"):
        raise  # what the caller is handling
