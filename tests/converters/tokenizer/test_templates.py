"""Chat templates by name, from the file to the prompt of `mobius run`."""

import json
from pathlib import Path

import numpy as np
import pytest

from converters.tokenizer.templates import read_templates
from repack.errors import InputError
from tests.support.cli import contents, mobius
from tests.support.tiny import write_tiny

KEY = "tokenizer.chat_template"
MAIN = "{% for m in messages %}[{{ m.content }}]{% endfor %}"
PARTS = (
    "{% for m in messages if m.role == 'user' %}{% for part in m.content %}({{ part.text }}){% endfor %}{% endfor %}"
    "{% if enable_thinking %}<think>{% endif %}{{ more }}"
)
TOOLS = "{% for m in messages %}tools\r\n{{ m.content }}{% endfor %}"


def test_main_and_named() -> None:
    warnings: list[str] = []
    metadata = {KEY: MAIN, f"{KEY}.tool_use": "b", f"{KEY}s": ["tool_use"], f"{KEY}.rag-2": "c", "general.name": "x"}
    assert read_templates(metadata, warnings) == (MAIN, {"rag-2": "c", "tool_use": "b"})
    assert read_templates({}, warnings) == (None, {})
    assert not warnings


def test_only_named_ones_are_announced() -> None:
    warnings: list[str] = []
    assert read_templates({f"{KEY}.tool_use": "b"}, warnings) == (None, {"tool_use": "b"})
    assert warnings == ["the file has chat templates by name only ('tool_use'), and no main one"]


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a b", "a\n", "é", "a\\b"])
def test_names_that_are_no_file_names(name: str) -> None:
    warnings: list[str] = []
    assert read_templates({KEY: MAIN, f"{KEY}.{name}": "b", f"{KEY}.c": "d"}, warnings) == (MAIN, {"c": "d"})
    assert warnings == [f"the chat template named {name!r} is left out: that is no name for a file"]


@pytest.mark.parametrize("key", [KEY, f"{KEY}.tool_use"])
@pytest.mark.parametrize("value", [7, True, ["a"], np.zeros(3, np.int32)])
def test_what_is_no_text(key: str, value: object) -> None:
    with pytest.raises(InputError, match=f"{key} is not a text"):
        read_templates({key: value}, [])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("templates")
    templates = {KEY: MAIN, f"{KEY}.tool_use": TOOLS, f"{KEY}.parts": PARTS, f"{KEY}s": ["tool_use"]}
    write_tiny(path / "m.gguf", "llama", types="Q8_0", tokenizer="bpe", extra_metadata=templates)
    assert mobius("convert", path / "m.gguf", "-o", path / "onnx", "--ep", "cpu").exit_code == 0
    return path / "onnx"


def _prompt(folder: Path, *options: str) -> list[int]:
    done = mobius("run", folder, "-p", "ab", "-n", "1", "--json", *options)
    assert done.exit_code == 0, done.stderr
    ids: list[int] = json.loads(done.stdout)["prompt_ids"]
    return ids


def _ids(folder: Path, text: str) -> list[int]:
    ids: list[int] = json.loads(mobius("tokenize", folder, text, "--json").stdout)["ids"]
    return ids


def test_run_renders_the_one_that_is_asked_for(folder: Path) -> None:
    assert (folder / "chat_template.jinja").read_bytes() == MAIN.encode()
    assert (folder / "additional_chat_templates" / "tool_use.jinja").read_bytes() == TOOLS.encode()
    assert _prompt(folder) == _ids(folder, "[ab]")
    assert _prompt(folder, "--chat-template", "tool_use") == _ids(folder, "tools\nab")  # jinja: all line ends are \n
    assert _prompt(folder, "--raw") == _ids(folder, "ab")


def test_texts_that_a_template_would_lose(folder: Path) -> None:
    parts = ("--chat-template", "parts")
    assert _prompt(folder, *parts) == _ids(folder, "(ab)<think>")
    assert _prompt(folder, *parts, "--system", "cd") == _ids(folder, "(cd\nab)<think>")


def test_variables_of_a_template(folder: Path) -> None:
    parts = ("--chat-template", "parts", "--template-var")
    assert _prompt(folder, *parts, "enable_thinking=false") == _ids(folder, "(ab)")
    assert _prompt(folder, *parts, "more=é=1") == _ids(folder, "(ab)<think>é=1")
    assert _prompt(folder, *parts, 'more="true"', "--template-var", "enable_thinking=0") == _ids(folder, "(ab)true")
    done = mobius("run", folder, "-p", "ab", "--raw", "--template-var", "a=1")
    assert (done.exit_code, done.stderr.count("\n")) == (1, 2)
    assert "--template-var is for a chat template" in done.stderr
    done = mobius("run", folder, "-p", "ab", "--template-var", "a")
    assert done.exit_code == 2
    assert "NAME=VALUE is wanted" in done.stderr


def _converted(folder: Path, template: str) -> tuple[Path, str]:
    """A folder, and what `convert` says."""
    path = write_tiny(folder / "m.gguf", "llama", tokenizer="bpe", extra_metadata={KEY: template})
    done = mobius("convert", path, "-o", folder / "onnx", "--force")
    assert done.exit_code == 0, done.stderr
    return folder / "onnx", done.stderr


def test_losses_are_announced_and_repaired_or_refused(tmp_path: Path) -> None:
    folder, said = _converted(tmp_path, "{% for m in messages if m.role == 'user' %}[{{ m.content }}]{% endfor %}")
    assert said.count("warning: the chat template has no place for a system message") == 1
    assert _prompt(folder, "--system", "cd") == _ids(folder, "[cd\nab]")
    folder, said = _converted(tmp_path, "Hello!")
    assert said.count("warning: the chat template shows no text of the user") == 1
    done = mobius("run", folder, "-p", "ab")
    assert (done.exit_code, done.stderr.count("\n")) == (1, 2)
    assert "the chat template shows no text of the user" in done.stderr
    assert mobius("run", folder, "-p", "ab", "--raw", "-n", "1").exit_code == 0
    assert "warning" not in _converted(tmp_path, MAIN)[1]


def test_a_name_that_the_folder_does_not_have(folder: Path) -> None:
    done = mobius("run", folder, "-p", "ab", "--chat-template", "rag")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 2)
    assert "no chat template named 'rag'" in done.stderr
    assert "choose one of: parts, tool_use" in done.stderr
    done = mobius("run", folder, "-p", "ab", "--chat-template", "tool_use", "--raw")
    assert done.exit_code == 2
    assert "--raw and --chat-template contradict each other" in done.stderr


def test_inspect_names_them(folder: Path) -> None:
    path = folder.parent / "m.gguf"
    assert "with chat template, one named tool_use, one named parts" in mobius("inspect", path).stdout
    facts = json.loads(mobius("inspect", path, "--json").stdout)
    assert (facts["chat_template"], facts["named_chat_templates"]) == (True, ["tool_use", "parts"])


def test_a_rewritten_folder_keeps_them(folder: Path, tmp_path: Path) -> None:
    assert mobius("convert", folder, "-o", tmp_path / "again", "--ep", "cpu").exit_code == 0
    found, wanted = contents(tmp_path / "again"), contents(folder)
    assert "additional_chat_templates/tool_use.jinja" in found
    assert found == wanted
