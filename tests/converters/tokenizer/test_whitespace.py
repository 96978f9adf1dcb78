"""BPE of words without spaces (`tokenizer.ggml.model` = whitespace) against llama.cpp."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from converters.tokenizer import export_tokenizer
from repack.errors import MobiusError
from tests.converters.tokenizer.support.many_strings import many_strings
from tests.converters.tokenizer.support.pre_strings import NEWER
from tests.converters.tokenizer.support.strings import STRINGS
from tests.converters.tokenizer.support.vocab_files import BYTE, NORMAL, assert_same_as_llama
from tests.converters.tokenizer.support.vocab_kinds import spaced_bpe

COUNT = int(os.environ.get("MOBIUS_TEST_STRINGS", "300"))
TEXTS = [*many_strings(COUNT, special=["<bos>", "<turn|>", "<user>", "<unk>"]), *STRINGS]
SPACES = ["", " ", " a", "a ", "  a  b  ", "\n a \n", "a\u3000b\u00a0c\u2028d", "a\u200bb", "a\ue000b", " <user> a"]


def _metadata(texts: list[str], **keys: Any) -> dict[str, Any]:
    """As it is made for the other BPE of plain text, without its byte tokens."""
    metadata = spaced_bpe(["".join(text.split()) for text in texts], pre="whitespace", **keys)
    metadata["tokenizer.ggml.model"] = "whitespace"
    types = metadata["tokenizer.ggml.token_type"]
    for i in np.flatnonzero(types == BYTE).tolist():
        metadata["tokenizer.ggml.tokens"][i] = f"[unused{i}]"
    types[types == BYTE] = NORMAL
    return metadata


@pytest.mark.parametrize("lowercase", [False, True])
def test_same_ids(lowercase: bool, tmp_path: Path) -> None:
    texts = [*TEXTS, *SPACES, "İstanbul ΣΑΣ Straße ẞ ǅ"]
    if lowercase:  # llama.cpp does not know the newest letters
        texts = [text for text in texts if NEWER.isdisjoint(text)]
    metadata = _metadata([*texts, *map(str.lower, texts)], **{"normalizer.lowercase": lowercase})
    files = assert_same_as_llama(metadata, texts, tmp_path)
    assert len(files.warnings) == 1
    assert "onnxruntime-genai" in files.warnings[0]


def test_every_character(tmp_path: Path) -> None:
    codes = [c for c in range(1, 0x3000) if chr(c) not in NEWER]
    texts = ["".join(f"a{chr(c)}b" for c in codes[i : i + 64]) for i in range(0, len(codes), 64)]
    assert_same_as_llama(_metadata(texts, **{"normalizer.lowercase": True}), texts, tmp_path)


def test_unknown_characters_disappear_and_keep_their_neighbours_apart(tmp_path: Path) -> None:
    metadata = _metadata(["ab"] * 9, count=0)
    metadata["tokenizer.ggml.tokens"][10] = "ab"
    metadata["tokenizer.ggml.merges"] = ["a b"]
    assert_same_as_llama(metadata, ["ab", "a b", "a中b", "😀ab😀", "中"], tmp_path)


def test_ends_of_texts(tmp_path: Path) -> None:
    files = assert_same_as_llama(_metadata(["ab"], add_bos_token=True, add_eos_token=True), ["ab", ""], tmp_path)
    assert files.add_bos
    metadata = _metadata(["ab"], add_bos_token=True, add_eos_token=True)
    del metadata["tokenizer.ggml.bos_token_id"], metadata["tokenizer.ggml.eos_token_id"]
    assert assert_same_as_llama(metadata, ["ab", ""], tmp_path).bos_token_id == 11


def test_genai_does_not_load_it(genai_folder: Path) -> None:
    import onnxruntime_genai as og

    files = export_tokenizer(_metadata(["ab ab"]))
    (genai_folder / "tokenizer.json").write_bytes(files.tokenizer_json)
    (genai_folder / "tokenizer_config.json").write_text(json.dumps(files.tokenizer_config), encoding="utf-8")
    with pytest.raises(RuntimeError, match="Invalid regex"):
        og.Tokenizer(og.Model(str(genai_folder)))


def test_words_come_back_without_spaces() -> None:
    tokenizer = Tokenizer.from_buffer(export_tokenizer(_metadata(["ab中c"])).tokenizer_json)
    assert tokenizer.decode(tokenizer.encode("ab 中\nc").ids) == "ab中c"


def test_what_is_needed() -> None:
    metadata = _metadata(["ab"])
    damages: list[dict[str, Any]] = [{"pre": "gpt-2"}, {"pre": None}, {"tokens": ["aa", "bb", "cc"]}]
    damages.append({"tokens": ["a", "b", "<0x41>"]})
    for damage in damages:
        with pytest.raises(MobiusError, match="pre-tokenizer of that name"):
            export_tokenizer(metadata | {f"tokenizer.ggml.{key}": value for key, value in damage.items()})
