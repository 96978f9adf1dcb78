"""Chat templates as models bring them."""

import datetime
from pathlib import Path

import pytest

from converters.sources.gguf.file import GgufFile
from converters.tokenizer.chat import render_chat
from converters.tokenizer.template_process import TemplateProcess
from repack.errors import MobiusError

_HELLO = [{"role": "user", "content": "Hi"}]


def _render(template: str, messages: list[dict[str, str]] = _HELLO, prompt: bool = True) -> str:
    return render_chat(template, messages, bos_token="<s>", eos_token="</s>", add_generation_prompt=prompt)


def _evaluated(template: str) -> str:
    """What it gives with no messages to show."""
    with TemplateProcess(template) as engine:
        return engine.render({})


def test_variables() -> None:
    template = "{{ bos_token }}{% for m in messages %}{{ m.role }}:{{ m['content'] }}{{ eos_token }}{% endfor %}"
    assert _render(template) == "<s>user:Hi</s>"
    asking = "{{ messages[0].content }}{% if add_generation_prompt %}yes{% endif %}"
    assert (_render(asking), _render(asking, prompt=False)) == ("Hiyes", "Hi")


def test_blocks_leave_no_white_space() -> None:
    assert (
        _render("{% for m in messages %}\n  {% if true %}\n{{ m.content }}\n  {% endif %}\n{% endfor %}\nend")
        == "Hi\nend"
    )


def test_loop_controls() -> None:
    template = "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}"  # fmt: skip  # noqa: E501
    assert _evaluated(template) == "02"


def test_json_is_not_escaped_for_html() -> None:
    assert _evaluated("{{ {'a': '<é>&\"'} | tojson }}") == '{"a": "<é>&\\""}'
    assert _evaluated("{{ [1] | tojson(indent=2) }}") == "[\n  1\n]"


def test_date() -> None:
    assert _evaluated("{{ strftime_now('%Y') }}") == str(datetime.datetime.now().year)


def test_template_can_refuse() -> None:
    with pytest.raises(MobiusError, match="roles must alternate"):
        _render("{{ raise_exception('roles must alternate') }}")


@pytest.mark.parametrize(
    "template",
    [
        "{% if %}",
        "{{ messages[0].content.nothing.more }}",
        "{{ 'a' + 1 }}",
        "{{ 1 / 0 }}",
        "{{ messages.append(1) }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{% for %}",
    ],
)
def test_errors_are_ours(template: str) -> None:
    with pytest.raises(MobiusError, match="chat template"):
        _render(template)


@pytest.mark.real
def test_smollm2(smollm2_gguf: Path) -> None:
    with GgufFile.open(smollm2_gguf) as source:
        template = source.metadata["tokenizer.chat_template"]
    prompt = _render(template)
    assert prompt.startswith("<|im_start|>system\nYou are a helpful AI assistant")
    assert prompt.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    assert "SmolLM" not in _render(template, [{"role": "system", "content": "Be brief."}, *_HELLO])
