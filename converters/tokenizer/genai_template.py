"""Chat templates for onnxruntime-genai, whose engine knows a part of Jinja and keeps the line feeds after blocks."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import jinja2
from jinja2 import nodes

from converters.tokenizer.engine import chat_environment

# What the engine knows, of that which Jinja knows.
_FILTERS = re.compile(
    "count|default|dictsort|e|escape|indent|int|items|join|last|length|list|lower|map|reject|rejectattr|safe|select|"
    "selectattr|sort|string|tojson|trim|unique"
)
_TESTS = re.compile("boolean|defined|false|float|integer|iterable|mapping|none|number|sequence|string|true|undefined")
_METHODS = re.compile(
    "append|capitalize|cycle|endswith|get|insert|items|lstrip|pop|rstrip|split|startswith|strip|title"
)
_TAGS: Mapping[type[nodes.Node], str] = {
    nodes.Block: "block",
    nodes.CallBlock: "call",
    nodes.With: "with",
    nodes.ScopedEvalContextModifier: "autoescape",
}
_TEXTS = ("content", "reasoning_content")  # the variables and keys that hold texts
_LITERAL = ("{{", "{%", "{#")  # from `raw` blocks


def genai_template_warning(template: str) -> str | None:
    """What to say of a template that needs what the engine does not know."""
    try:
        tree = chat_environment().parse(template)
    except jinja2.TemplateSyntaxError:
        return None
    missing = dict.fromkeys(what for node in tree.find_all(nodes.Node) for what in _missing(node))
    if not missing:
        return None
    return (
        f"the chat template has what onnxruntime-genai does not know ({', '.join(missing)}): "
        "its apply_chat_template fails or gives another text for some messages: render with transformers instead"
    )


def _missing(node: nodes.Node) -> Iterator[str]:
    if isinstance(node, nodes.Getattr | nodes.Getitem) and _is_function_call(node.node):
        yield "a part or method of what a function gives"
    if isinstance(node, nodes.Filter) and not _FILTERS.fullmatch(node.name):
        yield f"the filter '{node.name}'"
    elif isinstance(node, nodes.Filter) and node.name == "trim" and node.args:
        yield "'trim' of certain characters"
    elif isinstance(node, nodes.Filter) and node.name == "tojson":
        yield from (f"'tojson' with '{option.key}'" for option in node.kwargs if option.key != "indent")
    elif isinstance(node, nodes.Test) and not _TESTS.fullmatch(node.name):
        yield f"the test '{node.name}'"
    elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        if not _METHODS.fullmatch(node.node.attr):
            yield f"'.{node.node.attr}()'"
        elif node.node.attr == "split" and len(node.args) != 1:
            yield "'.split()' without a separator or with a limit"
    elif isinstance(node, nodes.Compare):
        if len(node.ops) > 1:
            yield "comparisons in a row"
        elif node.ops[0].op in ("in", "notin") and _is_text(node.expr, node.ops[0].expr):
            yield "'in' for a part of a text"
    elif isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Tuple):
        yield "'set' of several variables"
    elif type(node) in _TAGS:
        yield f"the block '{_TAGS[type(node)]}'"


def _is_function_call(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name)


def _is_text(part: nodes.Expr, whole: nodes.Expr) -> bool:
    """Whether `part in whole` asks about a text rather than a list or keys."""
    if isinstance(whole, nodes.Const):
        return isinstance(whole.value, str)
    if isinstance(whole, nodes.Getitem) and isinstance(whole.arg, nodes.Const):
        name: Any = whole.arg.value
    else:
        name = getattr(whole, "attr", getattr(whole, "name", None))
    marked = isinstance(part, nodes.Const) and isinstance(part.value, str) and re.search(r"[<>\s]", part.value)
    return name in _TEXTS or (bool(marked) and name is not None)


def without_block_trimming(template: str) -> str:
    """A template that gives the same text whether or not an engine removes white space around blocks.

    Templates are written for engines that do, such as those of transformers and llama.cpp. One that is the same
    either way is left alone; in others, line feeds after blocks move into the blocks.
    """
    try:
        trimmed, plain = (list(_pieces(template, trim)) for trim in (True, False))
    except jinja2.TemplateSyntaxError:
        return template
    same = [(text, tag.split()) for text, tag in trimmed] == [(text, tag.split()) for text, tag in plain]
    if same and "\r" not in template:
        return template
    written, before = "", ""
    for text, tag in trimmed:
        written += _protected(text, before, tag) + tag
        before = tag
    return written + "\n" * written.endswith("\n")  # the last line feed of a file is dropped


def _pieces(template: str, trim: bool) -> Iterator[tuple[str, str]]:
    """A text and the tag after it, again and again; without comments, and without signs for white space."""
    lexer = jinja2.Environment(trim_blocks=trim, lstrip_blocks=trim).lexer
    text = tag = ""
    for _, kind, value in lexer.tokeniter(template, None):
        if kind == "data":
            text += value
        elif kind in ("block_begin", "variable_begin"):
            tag = value[:2]
        elif kind in ("block_end", "variable_end"):
            space = "\n" if trim and value.endswith("\n") else " "
            yield text, tag.rstrip() + space + value.strip("-+ \t\n")
            text = tag = ""
        elif tag:
            tag += value
    yield text, ""


def _protected(text: str, before: str, after: str) -> str:
    """The text between two tags in a form from which no engine removes anything."""
    if any(mark in text for mark in _LITERAL):
        return _quoted(text)
    start = "\n" * (before.endswith("%}") and text.startswith("\n"))
    # Blanks before a block at the start of a line, and a brace that would become part of the tag.
    found = re.search(r"(?:\A|(?<=\n))[ \t]+\Z|\{\Z" if after.startswith("{%") else r"\{\Z", text[len(start) :])
    end = found[0] if found and after else ""
    return _quoted(start) + text[len(start) : len(text) - len(end)] + _quoted(end)


def _quoted(text: str) -> str:
    inner = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
    return f"{{{{ '{inner}' }}}}" if text else ""
