"""The licence that a file states: in words, for JSON, the same of a file and of its folder."""

import json
from pathlib import Path
from typing import Any

import pytest

from converters.folder.license import License
from tests.support.cli import mobius
from tests.support.tiny import write_tiny

LINK = "https://example.org/terms"
CASES: list[tuple[dict[str, Any], str, dict[str, str | None]]] = [
    ({}, "not stated in the file", {"license": None, "license_name": None, "license_link": None}),
    ({"": "apache-2.0"}, "apache-2.0", {"license": "apache-2.0", "license_name": None, "license_link": None}),
    ({"": "gemma", ".link": LINK}, f"gemma ({LINK})",
     {"license": "gemma", "license_name": None, "license_link": LINK}),
    ({"": "other", ".name": "Terms", ".link": LINK}, f"other, Terms ({LINK})",
     {"license": "other", "license_name": "Terms", "license_link": LINK}),
    ({".link": LINK}, LINK, {"license": None, "license_name": None, "license_link": LINK}),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "words", "parts"), CASES)
def test_words_and_json(tmp_path: Path, keys: dict[str, str], words: str, parts: dict[str, str | None]) -> None:
    metadata = {f"general.license{key}": value for key, value in keys.items()}
    file = write_tiny(tmp_path / "t.gguf", "llama", tokenizer="bpe", n_vocab=320, extra_metadata=metadata)
    out = tmp_path / "out"
    assert f"  license: {words}\n" in mobius("convert", file, "-o", out).stdout
    converted = json.loads(mobius("convert", file, "-o", out, "--force", "--json").stdout)
    assert {key: converted[key] for key in parts} == parts
    for model in (file, out):
        assert f"  license    {words}\n" in mobius("inspect", model).stdout
        found = json.loads(mobius("inspect", model, "--json").stdout)
        assert {key: found[key] for key in parts} == parts


@pytest.mark.parametrize("value", [7, ["a"], "", " \n"])
def test_what_is_no_text(value: Any) -> None:
    assert str(License.of({"general.license": value})) == "not stated in the file"


def test_strangers_texts() -> None:
    """One visible line, however long and whatever is in it."""
    found = License.of({"general.license": "a\x1b[31m\nb\u202e" + "c" * 999, "general.license.link": "javascript:x"})
    assert found.identifier is not None and found.identifier.startswith("a [31m b c") and len(found.identifier) < 130
    assert found.safe_link is None and not found.is_identifier
