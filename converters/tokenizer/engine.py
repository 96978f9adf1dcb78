"""Jinja as chat templates are written for it; run as a program, an engine that another process can stop.

As a program it imports nothing of this package: it starts for every chat, and that should be quick.
"""

import contextlib
import datetime
import json
import sys
from functools import cache, lru_cache
from typing import Any, BinaryIO, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

SECONDS = 5  # longest time for all that one chat needs
_CPU_SECONDS = 2 * SECONDS  # the end of an engine whose parent is gone
_MEMORY = 1 << 30
_LONGEST = 1 << 26  # characters of a prompt


@cache
def chat_environment() -> jinja2.Environment:
    """Jinja as chat templates are written for it."""
    # Sandboxed: the template comes from a downloaded file.
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    return environment


class _Generation(Extension):
    """`{% generation %}` marks what the model writes, for training: it shows nothing itself."""

    tags = {"generation"}  # noqa: RUF012 - as the base class has it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as models were trained on it: jinja's own filter escapes characters for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _strftime_now(form: str) -> str:
    return datetime.datetime.now().strftime(form)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The `text` of a `template` with its `variables`, or an `error` of some kind and its `message`."""
    try:
        text = _compiled(request["template"]).render(request["variables"])
    except jinja2.TemplateSyntaxError as error:
        return {"error": "syntax", "message": f"line {error.lineno}: {error.message}"}
    except RecursionError:
        return {"error": "endless", "message": "it calls itself again and again, or nests too deeply"}
    except MemoryError:
        return {"error": "endless", "message": "it needs more than 1 GiB of memory"}
    except Exception as error:  # whatever a template can make Python raise
        return {"error": "refused", "message": (str(error).strip().splitlines() or [type(error).__name__])[0]}
    if len(text) > _LONGEST:
        return {"error": "endless", "message": f"its text has {len(text):,} characters"}
    return {"text": text}


@lru_cache(maxsize=1)
def _compiled(template: str) -> jinja2.Template:
    return chat_environment().from_string(template)


def _limit_this_process() -> None:
    if sys.platform == "win32":
        return
    import resource

    for kind, limit in ((resource.RLIMIT_CPU, _CPU_SECONDS), (resource.RLIMIT_AS, _MEMORY)):
        _, hard = resource.getrlimit(kind)
        allowed = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        with contextlib.suppress(ValueError, OSError):  # macOS does not know all of them
            resource.setrlimit(kind, (allowed, hard))


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests, one a line, until there are no more."""
    for line in requests:
        answers.write(json.dumps(answer(json.loads(line))).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    _limit_this_process()
    serve(sys.stdin.buffer, sys.stdout.buffer)
