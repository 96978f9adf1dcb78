"""A tokenizer.json as a GGUF file's vocabulary, and back: llama.cpp gives the ids of the first, up to its own."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from converters.tokenizer.export import TokenizerFiles, export_tokenizer
from converters.tokenizer.gguf_tokens import stand_in_vocabulary
from converters.tokenizer.gguf_vocabulary import tokenizer_metadata
from converters.tokenizer.trial_texts import TEXTS
from tests.converters.tokenizer.support.vocab_files import assert_same_as_llama, sentencepiece

PIECES = {
    **{piece: -float(i) for i, piece in enumerate(["▁t", "he", "▁the", "in", "er", "▁a", "▁s", "or", "▁w", "ld"])},
    **{"▁wor": -22.0, "▁world": -23.0}, **{c: -100.0 - i for i, c in enumerate("▁abcdefghijklmnopqrstuvwxyz\n.,'1é")},
}  # fmt: skip
ROWS = 400


def there_and_back(prefix: bool, **changes: Any) -> tuple[Tokenizer, dict[str, Any], list[str]]:
    """A tokenizer.json with these changes, and what becomes of it."""
    files = export_tokenizer(sentencepiece(PIECES, add_space_prefix=prefix))
    assert files.tokenizer_json is not None
    content = json.loads(files.tokenizer_json)
    content["model"] |= changes.pop("model", {})
    text = json.dumps({**content, **changes}).encode()
    given = TokenizerFiles(text, {}, bos_token_id=1, eos_token_ids=(2,), add_bos=files.add_bos)
    return Tokenizer.from_buffer(text), *tokenizer_metadata(given, ROWS)


@pytest.mark.parametrize("prefix", [True, False])
def test_sentencepiece(tmp_path: Path, prefix: bool) -> None:
    tokenizer, found, warnings = there_and_back(prefix)
    assert not warnings and found["tokenizer.ggml.model"] == "llama"
    assert found["tokenizer.ggml.add_space_prefix"] is prefix and len(found["tokenizer.ggml.scores"]) == ROWS
    types = found["tokenizer.ggml.token_type"]
    assert types.count(6) == 256 and types.count(2) == 1 and types[-1] == 5
    assert_same_as_llama(found, [*TEXTS, "the world"], tmp_path)
    back = Tokenizer.from_buffer(export_tokenizer(found).tokenizer_json)
    for text in ("the world", " in the", "é 1\n"):
        assert tokenizer.encode(text).ids == back.encode(text).ids


def test_what_llama_cpp_would_do_otherwise() -> None:
    lower = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, {"type": "Replace", "pattern": {"String": " "},
             "content": "▁"}]}  # fmt: skip
    for changes, reason in (
        ({"normalizer": lower}, "other ids of some texts"),
        ({"model": {"unk_token": None}}, "no unknown token"),
        ({"model": {"merges": []}}, "no merges"),
    ):
        _, found, (warning,) = there_and_back(False, **changes)
        assert found == {"tokenizer.ggml.model": "no_vocab"} and reason in warning


def test_a_stand_in(tmp_path: Path) -> None:
    """llama.cpp loads it, however few rows or many there are."""
    for rows in (256, 1000):
        found = stand_in_vocabulary(rows)
        assert len(found["tokenizer.ggml.tokens"]) == rows == len(set(found["tokenizer.ggml.tokens"]))
        assert_same_as_llama(found, ["abc", "é"], tmp_path)
