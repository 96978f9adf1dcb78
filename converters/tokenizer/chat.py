"""Chat messages to a prompt, with the template that the model came with."""

import datetime
import json
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from repack.errors import MobiusError


def render_chat(
    template: str,
    messages: Sequence[dict[str, str]],
    *,
    bos_token: str,
    eos_token: str,
    add_generation_prompt: bool = True,
) -> str:
    """The prompt for these messages (each with `role` and `content`).

    The result holds the special tokens as text, BOS too where the template puts it: encode it without
    adding special tokens.
    """
    try:
        return _compile(template).render(
            messages=messages,
            bos_token=bos_token,
            eos_token=eos_token,
            add_generation_prompt=add_generation_prompt,
        )
    except jinja2.TemplateSyntaxError as error:
        raise MobiusError(f"the chat template has an error in line {error.lineno}: {error.message}") from error
    except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise MobiusError(
            f"the chat template refuses these messages: {_first_line(error)}",
            "look at the order and names of the roles",
        ) from error


@lru_cache(maxsize=8)
def _compile(template: str) -> jinja2.Template:
    return chat_environment().from_string(template)


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


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
