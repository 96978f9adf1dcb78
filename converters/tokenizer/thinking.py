"""Whether a template asks the model to think: llama-server's own answer, which sets `enable_thinking`.

llama-server knows some families by parts of their templates. For others it looks for marks (`<...>` or `[...]`) around
thoughts of an earlier answer, and at what `enable_thinking` changes at the end of the prompt.
"""

import re
from collections.abc import Mapping
from typing import Any

from converters.tokenizer.probe import Form
from converters.tokenizer.template_process import TemplateProcess, TemplateRefusalError

_USER = {"role": "user", "content": "Hello?"}
_ANSWER = {"role": "assistant", "content": "I can help."}
_THOUGHTS = "thoughtsofmobius"
# (what the template has, what it has not) for the families that think, as llama-server was seen to tell them.
_FAMILIES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("[SYSTEM_PROMPT]", "[TOOL_CALLS]", "[ARGS]"), ("[CALL_ID]",)),
    (("<|channel|>",), ()),
    (("chat_format=llm-jp-harmony-v1",), ()),
    (("<|tool_calls_section_begin|>", "<|tool_call_begin|>"), ()),
    (("<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"), ()),
    (("<role>ASSISTANT</role>", "<arg_key>"), ()),
    (("<|START_TEXT|>", "<|START_ACTION|>"), ()),
    (("<|tool_list_start|>", "<|tool_list_end|>"), ()),
    (("List of tools: [",), ("<|tool_list_start|>",)),
    (("dsml_token", "function_calls", "DSML"), ()),
    (("dsml_token", "tool_calls", "DSML"), ()),
    (("'<|tool_call>call:'",), ()),
    (("Write your thoughts between <think></think> and write your response between <response></response>",), ()),
    (("content.split('</think>')",), ("reasoning_content",)),
)
_MARK = r"<[^>]*>|\[[^\]]*\]"
_ANCHOR = 64  # characters at the end of a prompt by which it is found in the other


def thinks(engine: TemplateProcess, template: str, variables: Mapping[str, Any], form: Form) -> bool:
    """Whether llama-server would set `enable_thinking` for this template, which takes messages in this form."""
    if any(all(a in template for a in have) and not any(a in template for a in lack) for have, lack in _FAMILIES):
        return True
    return _marks_thoughts(engine, variables, form) or _ends_otherwise(engine, variables, form)


def _marks_thoughts(engine: TemplateProcess, variables: Mapping[str, Any], form: Form) -> bool:
    """Whether thoughts of an earlier answer are shown, with a mark after them."""
    given = {name: value for name, value in variables.items() if name != "add_generation_prompt"}
    messages = form.of([_USER, {**_ANSWER, "reasoning_content": _THOUGHTS}])
    given |= {"messages": messages, "enable_thinking": True}
    try:
        text = engine.render(given)
    except TemplateRefusalError:
        return False
    return re.search(rf"{_THOUGHTS}\s*(?:{_MARK})", text) is not None


def _ends_otherwise(engine: TemplateProcess, variables: Mapping[str, Any], form: Form) -> bool:
    """Whether the variable adds something to the end of the prompt, or takes it away."""
    given = {**variables, "messages": form.of([_USER]), "add_generation_prompt": True}
    try:
        off, on = (engine.render({**given, "enable_thinking": value}) for value in (False, True))
    except TemplateRefusalError:
        return False
    only_off, only_on = _difference(off, on)
    if only_off and only_on:
        return _goes_on(off, on) or _goes_on(on, off)
    return off.endswith(only_off) and on.endswith(only_on) and bool(only_off or only_on)


def _difference(left: str, right: str) -> tuple[str, str]:
    """What each text has that the other has not, between marks and without white space around."""
    a, b = _pieces(left), _pieces(right)
    while a and b and a[0] == b[0]:
        del a[0], b[0]
    while a and b and a[-1] == b[-1]:
        del a[-1], b[-1]
    if a and b and not _is_mark(a[0]) and not _is_mark(b[0]):
        shared = _shared(a[0], b[0])
        a[0], b[0] = a[0][shared:], b[0][shared:]
    if a and b and not _is_mark(a[-1]) and not _is_mark(b[-1]):
        shared = _shared(a[-1][::-1], b[-1][::-1])
        a[-1], b[-1] = a[-1][: len(a[-1]) - shared], b[-1][: len(b[-1]) - shared]
    return "".join(a).strip(), "".join(b).strip()


def _shared(left: str, right: str) -> int:
    """How many characters at the start are the same."""
    pairs = zip(left, right, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


def _goes_on(whole: str, longer: str) -> bool:
    """Whether the end of the one is in the other, with two marks and nothing else after it."""
    _, found, more = longer.rpartition(whole[-_ANCHOR:])
    marks = [piece for piece in _pieces(more) if piece.strip()]
    return bool(found) and len(marks) == 2 and all(map(_is_mark, marks))


def _is_mark(piece: str) -> bool:
    return re.fullmatch(_MARK, piece) is not None


def _pieces(text: str) -> list[str]:
    """Marks, and texts between them."""
    return [piece for piece in re.split(rf"({_MARK})", text, flags=re.DOTALL) if piece]
