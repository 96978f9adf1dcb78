"""The model card: its programs run as written, its facts are the file's, and no text of a file gets loose."""

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt

from tests.support.cli import contents, mobius
from tests.support.model_card import programs, run_python
from tests.support.tiny import write_tiny

TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}"
SMALL: dict[str, Any] = {"types": "Q8_0", "tokenizer": "bpe", "n_vocab": 320}
NAMED = {
    "general.name": "Little One", "general.author": "Someone", "general.license": "Apache-2.0",
    "general.license.link": "https://example.org/license.txt", "general.base_model.count": 1,
    "general.base_model.0.name": "Base", "general.base_model.0.repo_url": "https://huggingface.co/owner/base-1.5",
}  # fmt: skip


def converted(folder: Path, *options: str, metadata: dict[str, Any] | None = None, arch: str = "llama") -> Path:
    file = write_tiny(folder / "in.gguf", arch, extra_metadata=metadata or {}, **SMALL)
    done = mobius("convert", file, "-o", folder / "out", *options)
    assert done.exit_code == 0, done.stderr
    return folder / "out"


def front(folder: Path) -> dict[str, Any]:
    head = (folder / "README.md").read_text(encoding="utf-8").split("---\n")[1]
    found: dict[str, Any] = yaml.safe_load(head)
    return found


@pytest.mark.parametrize("options", [(), ("--dtype", "f16", "--layout", "hub"), ("--ep", "cpu")])
@pytest.mark.parametrize("arch", ["llama", "gemma3"])
def test_programs_run(tmp_path: Path, options: tuple[str, ...], arch: str) -> None:
    """They print what `mobius run` generates."""
    out = converted(tmp_path, *options, arch=arch)
    wanted = mobius("run", out, "--raw", "-p", "The sea is", "-n", "20", "--json")
    assert wanted.exit_code == 0, wanted.stderr
    text = yaml.safe_load(wanted.stdout)["text"]
    assert text in run_python(out, "onnxruntime")
    found = re.sub(r"<[|]pad[0-9]+[|]>", "", run_python(out, "onnxruntime-genai"))  # which it shows
    assert found.strip() and text.startswith(found.strip().rstrip("\ufffd"))
    assert set(programs(out)) == {"onnxruntime", "onnxruntime-genai"} | (
        set() if "cpu" in options else {"optimum", "transformers.js"}
    )


def test_chat(tmp_path: Path) -> None:
    out = converted(tmp_path, metadata={"tokenizer.chat_template": TEMPLATE})
    wanted = mobius("run", out, "-p", "What is the sea?", "-n", "20", "--json")
    found = re.sub(r"<[|]pad[0-9]+[|]>", "", run_python(out, "onnxruntime-genai")).strip().rstrip("\ufffd")
    assert found and yaml.safe_load(wanted.stdout)["text"].startswith(found)
    assert all("messages" in code or "What is the sea" in code for name, (_, code) in programs(out).items()
               if name != "onnxruntime")  # fmt: skip


def test_facts(tmp_path: Path) -> None:
    out = converted(tmp_path, metadata=NAMED)
    assert front(out) == {
        "license": "apache-2.0", "license_link": "https://example.org/license.txt", "base_model": ["owner/base-1.5"],
        "library_name": "onnx", "pipeline_tag": "text-generation",
        "tags": ["onnx", "onnxruntime", "onnxruntime-genai", "mobius", "llama"],
    }  # fmt: skip
    card = (out / "README.md").read_text(encoding="utf-8")
    data = (tmp_path / "in.gguf").read_bytes()
    for fact in (
        f"* source: `in.gguf`, {len(data):,} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}",
        "* author: `Someone`", "* base model: `owner/base-1.5`",
        "* licence: `Apache-2.0` <https://example.org/license.txt>",
        "* weights: exact, every one equals the source's bit for bit in float32", "# `Little One`",
    ):  # fmt: skip
        assert f"{fact}\n" in card
    half = converted(tmp_path, "--dtype", "f16", "--force")
    assert " rounded, at most " in (half / "README.md").read_text(encoding="utf-8")


def test_rewriting_gives_the_same_card(tmp_path: Path) -> None:
    out = converted(tmp_path, metadata=NAMED)
    assert mobius("convert", out, "-o", tmp_path / "cpu", "--ep", "cpu").exit_code == 0
    assert mobius("convert", tmp_path / "in.gguf", "-o", tmp_path / "direct", "--ep", "cpu").exit_code == 0
    assert contents(tmp_path / "cpu") == contents(tmp_path / "direct")


HOSTILE = (
    "x\n---\ntags: [evil]\n---\n# Owned",
    'a"\nlicense: "mit',
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "`` ` ```\n```\n</code><b>x",
    "[click](https://evil.example) ![i](https://evil.example/p.png) https://evil.example www.evil.example",
    "<https://evil.example>",
    "--> <!-- \u2028\u0085\x00 & &lt; \\",
    "x" * 5000,
    "{{ 7 * 7 }} | a | b |\n|---|---|",
    "\u202egpj.exe",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts(tmp_path: Path, text: str) -> None:
    """YAML keys stay those of the card, and the body has no link, image or HTML but its last line."""
    keys = ("name", "author", "license", "license.name", "license.link", "base_model.0.name", "base_model.0.repo_url")
    out = converted(tmp_path, metadata={f"general.{key}": text for key in keys})
    head = front(out)
    assert set(head) <= {"license", "license_name", "library_name", "pipeline_tag", "tags"}
    assert head["license"] in ("other", "gpj.exe")
    card = (out / "README.md").read_text(encoding="utf-8")
    assert max(map(len, card.splitlines())) < 420
    assert not set("\u2028\u0085\x00\u202e") & set(card)
    tokens = MarkdownIt("commonmark", {"html": True}).parse(card.split("---\n", 2)[2])
    inner = [child for token in tokens for child in token.children or []]
    assert {token.type for token in inner} <= {"text", "code_inline", "softbreak"}
    assert [token.content[:14] for token in tokens if token.type == "html_block"] == ["<!-- mobius wr"]
    assert [token.tag for token in tokens if token.type == "heading_open"].count("h1") == 1


def test_hostile_file_name(tmp_path: Path) -> None:
    file = tmp_path / "a`\n# b\n<script>`.gguf"
    write_tiny(tmp_path / "in.gguf", "llama", drop_metadata=["general.name"], **SMALL).rename(file)
    assert mobius("convert", file, "-o", tmp_path / "out").exit_code == 0
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "# `a' # b <script>'.gguf`\n" in card and "* source: `a' # b <script>'.gguf`, " in card
    assert card.count("<script>") == 2


def test_without_metadata(tmp_path: Path) -> None:
    file = write_tiny(tmp_path / "in.gguf", "llama", drop_metadata=["general.name"], **SMALL)
    assert mobius("convert", file, "-o", tmp_path / "out").exit_code == 0
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "# `in.gguf`\n" in card and "* licence: not stated in the file\n" in card
    assert "license" not in front(tmp_path / "out")


def test_a_changed_card_is_kept(tmp_path: Path) -> None:
    """Whoever changed it finds it again; the folder works with it, or without one."""
    out = converted(tmp_path)
    card, file = out / "README.md", tmp_path / "in.gguf"
    ours = card.read_text(encoding="utf-8")
    for changed in ("mine\n", ours.replace("mobius.", "me."), ours + "more\n", ours.replace("\n", "\r\n"), ""):
        card.write_bytes(changed.encode())
        done = mobius("convert", file, "-o", out, "--force")
        assert done.exit_code == 2 and "README.md in it is not as mobius wrote it" in done.stderr
        assert card.read_bytes() == changed.encode()
        assert mobius("inspect", out).exit_code == 0
    card.unlink()
    assert mobius("inspect", out).exit_code == 0
    assert mobius("convert", file, "-o", out, "--force").exit_code == 0
    assert card.read_text(encoding="utf-8") == ours
    (out / "mobius.json").write_text("damaged")  # its list of files is lost: the card tells itself
    card.write_text("mine\n")
    assert mobius("convert", file, "-o", out, "--force").exit_code == 2
    card.write_text(ours)
    assert mobius("convert", file, "-o", out, "--force").exit_code == 0
