"""Chat messages to a prompt, with the template that the model came with: the text that llama-server gives."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from converters.tokenizer.probe import Message, find_form
from converters.tokenizer.template_process import TemplateProcess
from converters.tokenizer.thinking import thinks

# What llama-server asks for, in the words of several families: thoughts of earlier answers stay.
_KEEP_THOUGHTS: Mapping[str, bool] = {
    "preserve_thinking": True,
    "preserve_reasoning": True,
    "clear_thinking": False,
    "truncate_history_thinking": False,
    "drop_thinking": False,
}
# A family (Step 3.5) whose texts llama-server gives without white space around them.
_TRIMMED = "You have access to the following functions in JSONSchema format"


def render_chat(
    template: str,
    messages: Sequence[Message],
    *,
    bos_token: str,
    eos_token: str,
    add_generation_prompt: bool = True,
    variables: Mapping[str, Any] | None = None,
) -> str:
    """The prompt for these messages (each with `role` and `content`); `variables` go to the template on top.

    The result holds the special tokens as text, BOS too where the template puts it: encode it without
    adding special tokens.

    Raises:
        MobiusError: the template is broken or endless, refuses the messages, or would lose one of their texts.
    """
    given = {"bos_token": bos_token, "eos_token": eos_token, **_KEEP_THOUGHTS, **_dates()}
    if add_generation_prompt:  # else it is not there at all
        given["add_generation_prompt"] = True
    own = dict(variables or {})
    if _TRIMMED in template:
        messages = [{**message, "content": message["content"].strip()} for message in messages]
    with TemplateProcess(template) as engine:
        form = find_form(engine, messages, given | own)
        if "enable_thinking" not in own:
            own["enable_thinking"] = thinks(engine, template, given, form)
        return engine.render(given | own | {"messages": form.of(messages)})


def _dates() -> dict[str, str]:
    today = datetime.datetime.now()
    return {"date_string": today.strftime("%d %b %Y"), "datetime": today.strftime("%b %d %Y")}
