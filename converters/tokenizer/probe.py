"""In which form a chat template takes messages: found out with marker texts in place of the real ones.

As in llama-server, contents are plain strings if the template shows those, else lists of typed parts; a system message
that the template does not show goes to the start of the message after it. Where llama-server goes by what the template
looks at, a marker has to come through here: a text that is in no form part of the prompt is announced, not lost.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from converters.tokenizer.template_process import TemplateProcess, TemplateRefusalError
from repack.errors import MobiusError

Message = Mapping[str, str]

_KEPT = ("system", "user")  # roles whose whole text belongs into a prompt; of answers, templates cut off thoughts
_MARKER = "mobiusmarker{}x"  # no case, no white space: templates may change those


class LostTextError(MobiusError):
    """A text of the messages is in no form part of the prompt."""


@dataclass(frozen=True)
class Form:
    """How messages are given to a template.

    Attributes:
        typed: each content as a list of one part with a type, instead of a string.
        merged: a first system message as part of the message after it.
    """

    typed: bool = False
    merged: bool = False

    def of(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """The messages in this form."""
        given = [dict(message) for message in messages]
        if self.merged and leads_with_system(given):
            system = given.pop(0)
            given[0]["content"] = f"{system['content']}\n{given[0]['content']}"
        if not self.typed:
            return given
        return [{**message, "content": [{"type": "text", "text": message["content"]}]} for message in given]


def leads_with_system(messages: Sequence[Message]) -> bool:
    """Whether there is a system message that could be merged into the next one."""
    return len(messages) > 1 and messages[0]["role"] == "system"


def find_form(engine: TemplateProcess, messages: Sequence[Message], variables: Mapping[str, Any]) -> Form:
    """The first form in which all texts of these messages come through.

    Raises:
        TemplateRefusalError: the template takes such messages in no form.
        LostTextError: something is lost in every form.
        MobiusError: the template is endless.
    """
    forms = [Form(), Form(typed=True)]
    if leads_with_system(messages):
        forms += [Form(merged=True), Form(typed=True, merged=True)]
    refusal: TemplateRefusalError | None = None
    losses = []
    for form in forms:
        try:
            lost = lost_roles(engine, form, messages, variables)
        except TemplateRefusalError as error:
            refusal = refusal or error
            continue
        if not lost:
            return form
        losses.append(lost)
    if losses or refusal is None:
        raise _loss(min(losses, key=len))
    raise refusal


def lost_roles(
    engine: TemplateProcess, form: Form, messages: Sequence[Message], variables: Mapping[str, Any]
) -> list[str]:
    """The roles of the messages whose texts do not come through in this form."""
    markers = [_MARKER.format(i) for i in range(len(messages))]
    marked = [
        {**message, "content": marker if message["role"] in _KEPT else message["content"]}
        for message, marker in zip(messages, markers, strict=True)
    ]
    text = engine.render({**variables, "messages": form.of(marked)}).lower()
    # A list of parts that is printed as it is shows the marker, too.
    text = re.sub(rf"""["']text["']: ["'](?:{_MARKER.format("[0-9]+")}|\\n)+""", "", text)
    kept = zip(messages, markers, strict=True)
    return [message["role"] for message, marker in kept if message["role"] in _KEPT and marker not in text]


def _loss(roles: Sequence[str]) -> LostTextError:
    if "user" in roles:
        return LostTextError(
            "the chat template shows no text of the user, given as a string or as a list of parts",
            "take another one with --chat-template, or none with --raw",
        )
    return LostTextError(
        "the chat template shows no system message, nor the user's text with that before it",
        "leave out --system, or take no template with --raw",
    )
