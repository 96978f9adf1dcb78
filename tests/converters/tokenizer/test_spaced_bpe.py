"""BPE with `▁` for spaces (`tokenizer.ggml.model` = gemma4) against llama.cpp."""

import os
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from converters.tokenizer import export_tokenizer
from repack.errors import MobiusError
from tests.converters.tokenizer.llama_pieces import compare
from tests.converters.tokenizer.many_strings import many_strings
from tests.converters.tokenizer.strings import STRINGS
from tests.converters.tokenizer.vocab_kinds import spaced_bpe

COUNT = int(os.environ.get("MOBIUS_TEST_STRINGS", "300"))
TEXTS = [*many_strings(COUNT, special=["<bos>", "<turn|>", "<user>", "<unk>"]), *STRINGS]


@pytest.mark.parametrize("keys", [{}, {"add_bos_token": False, "add_eos_token": True}], ids=["", "ends"])
def test_same_ids(keys: dict[str, bool], tmp_path: Path) -> None:
    files, differing = compare(spaced_bpe(TEXTS, **keys), TEXTS, tmp_path)
    assert not differing
    assert not files.warnings
    assert files.add_bos  # llama.cpp overrules a file that says otherwise
    assert files.eos_token_ids[0] == 1


def test_decoding_gives_the_text_back() -> None:
    files = export_tokenizer(spaced_bpe(TEXTS))
    assert files.tokenizer_json is not None
    tokenizer = Tokenizer.from_str(files.tokenizer_json)
    for text in TEXTS:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert tokenizer.decode(ids, skip_special_tokens=False) == text.replace("▁", " ")


def _metadata(tokens: list[str], merges: list[str]) -> dict[str, Any]:
    metadata = spaced_bpe(["a"], count=0)
    metadata["tokenizer.ggml.tokens"] = [*metadata["tokenizer.ggml.tokens"][:263], *tokens]
    metadata["tokenizer.ggml.token_type"] = metadata["tokenizer.ggml.token_type"][:263].tolist() + [1] * len(tokens)
    metadata["tokenizer.ggml.merges"] = merges
    return metadata


def test_runs_of_line_feeds(tmp_path: Path) -> None:
    lines = ["\n", "\n\n", "\n\n\n"]
    texts = ["a" + "\n" * n + "b" for n in range(1, 9)]
    files, differing = compare(_metadata(["a", "b", *lines], ["\n \n", "\n\n \n"]), texts, tmp_path)
    assert not differing
    assert not files.warnings
    files, differing = compare(_metadata(["a", "b", *lines], ["\n \n"]), texts, tmp_path)
    assert differing == ["a\n\n\nb"]
    assert "1 tokens of line feeds, for example '\\n\\n\\n'" in files.warnings[0]


def test_missing_bytes_are_announced_and_merges_needed() -> None:
    metadata = _metadata(["a", "b"], [])
    metadata["tokenizer.ggml.tokens"][7] = "c"  # was <0x00>
    assert any("1 of the 256 byte tokens" in warning for warning in export_tokenizer(metadata).warnings)
    del metadata["tokenizer.ggml.merges"]
    with pytest.raises(MobiusError, match="no merges"):
        export_tokenizer(metadata)
