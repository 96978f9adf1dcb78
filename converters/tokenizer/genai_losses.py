"""What onnxruntime-genai's chats lose: it takes messages as they are, and sets fewer variables than llama-server.

Its `apply_chat_template` gives a template messages, tools, BOS, EOS and `add_generation_prompt`, and nothing else.
"""

from typing import Any

from converters.tokenizer.probe import LostTextError, find_form, leads_with_system
from converters.tokenizer.template_process import TemplateProcess, TemplateRefusalError
from converters.tokenizer.thinking import thinks

_USER = {"role": "user", "content": "Hello?"}
_SYSTEM = {"role": "system", "content": "Be brief."}
_VARIABLES = {"bos_token": "", "eos_token": "", "add_generation_prompt": True}


def genai_losses(template: str) -> list[str]:
    """What to say of a template whose chats are whole in `mobius run` and llama-server only, or nowhere.

    Raises:
        MobiusError: the template is endless.
    """
    with TemplateProcess(template) as engine:
        found = [_text_loss(engine, [_USER]) or _text_loss(engine, [_SYSTEM, _USER]), _thoughts(engine, template)]
    return [warning for warning in found if warning is not None]


def _text_loss(engine: TemplateProcess, messages: list[dict[str, str]]) -> str | None:
    try:
        form = find_form(engine, messages, _VARIABLES)
    except LostTextError as error:
        return f"{error.message}: {error.hint}"
    except TemplateRefusalError:  # it says so itself when it is applied
        return None
    if form.typed:
        return (
            "the chat template takes contents as lists of parts: onnxruntime-genai loses texts given as strings "
            'or fails, so give its apply_chat_template [{"type": "text", "text": ...}] as content'
        )
    if form.merged and leads_with_system(messages):
        return (
            "the chat template has no place for a system message: onnxruntime-genai drops it or fails, so put its "
            "text at the start of the user's, as `mobius run` and llama-server do"
        )
    return None


def _thoughts(engine: TemplateProcess, template: str) -> str | None:
    """Whether the prompt would be another with the variable that llama-server sets."""
    try:
        form = find_form(engine, [_USER], _VARIABLES)
        given: dict[str, Any] = {**_VARIABLES, "messages": form.of([_USER])}
        value = thinks(engine, template, _VARIABLES, form)
        if engine.render(given) == engine.render({**given, "enable_thinking": value}):
            return None
    except (LostTextError, TemplateRefusalError):
        return None
    return (
        f"the chat template asks for enable_thinking, which `mobius run` and llama-server set to {str(value).lower()} "
        "and onnxruntime-genai does not set: their prompts differ"
    )
