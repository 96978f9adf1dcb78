"""Unigram vocabularies (`tokenizer.ggml.model` = t5) against llama.cpp."""

import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from converters.tokenizer import export_tokenizer
from converters.tokenizer.charsmap import Charsmap
from repack.errors import MobiusError
from tests.converters.tokenizer.support.charsmap_file import SINGLES, compile_charsmap, composing_charsmap, compositions
from tests.converters.tokenizer.support.llama_pieces import compare
from tests.converters.tokenizer.support.many_strings import many_strings
from tests.converters.tokenizer.support.strings import STRINGS
from tests.converters.tokenizer.support.vocab_kinds import unigram

COUNT = int(os.environ.get("MOBIUS_TEST_STRINGS", "300"))
TEXTS = [*many_strings(COUNT, special=["</s>", "<extra>", "<user>", "<unk>", "[PAD1]"]), *STRINGS[::3]]
SPACES = ["", " ", "   ", " a", "a ", "  a  b  ", "\n a \n", "▁", " ▁", "<user>  <user> a", "</s>", " </s> "]


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("prefix", [False, True])
@pytest.mark.parametrize("charsmap", [{}, SINGLES], ids=["as it is", "mapped"])
def test_same_ids(charsmap: dict[str, str], prefix: bool, merge: bool, tmp_path: Path) -> None:
    keys: dict[str, Any] = {"add_space_prefix": prefix, "remove_extra_whitespaces": merge}
    texts = TEXTS
    if charsmap:
        keys["precompiled_charsmap"] = compile_charsmap(charsmap)
        texts = [Charsmap(keys["precompiled_charsmap"].tobytes()).normalize(text) for text in TEXTS]
    files, differing = compare(unigram(texts, **keys), [*TEXTS, *SPACES], tmp_path)
    assert not differing
    assert len(files.warnings) == 1
    assert "onnxruntime-genai" in files.warnings[0]
    assert (files.bos_token_id, files.eos_token_ids, files.pad_token_id, files.add_bos) == (None, (1,), 0, False)


def test_composed_letters(tmp_path: Path) -> None:
    composed = "".join(compositions().values())
    letters = [composed[i * 13 % len(composed) :][:7] for i in range(150)]
    texts = [unicodedata.normalize(form, text) for text in letters for form in ("NFC", "NFD")]
    metadata = unigram([*letters, *texts], precompiled_charsmap=composing_charsmap())
    assert not compare(metadata, texts, tmp_path)[1]


def test_sums_of_scores_tie_where_llama_cpp_has_ties(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    runs = {letter * n: float(-rng.uniform(1, 2) * n) for letter in "abcdefghijklmnopqrstuvwxyz" for n in (1, 2, 3)}
    metadata = unigram(["x"])
    metadata["tokenizer.ggml.tokens"] = ["<pad>", "</s>", "<unk>", *runs]
    metadata["tokenizer.ggml.scores"] = np.array([0, 0, 0, *runs.values()], np.float32)
    metadata["tokenizer.ggml.token_type"] = np.array([3, 3, 2, *[1] * len(runs)], np.int32)
    texts = [letter * n for letter in "abcdefghijklmnopqrstuvwxyz" for n in range(1, 40)]
    assert not compare(metadata, texts, tmp_path)[1]


def test_unknown_characters_are_one_token_where_they_touch(tmp_path: Path) -> None:
    metadata = unigram(["ab ab"], add_space_prefix=True)
    assert not compare(metadata, ["a中中b", "中", "a 中 中 b", "😀<user>😀"], tmp_path)[1]


def test_user_defined_tokens_that_the_map_makes_cost_nothing(tmp_path: Path) -> None:
    metadata = unigram(["A cA AcA"], count=20, precompiled_charsmap=compile_charsmap(SINGLES))
    metadata["tokenizer.ggml.tokens"][4] = "cAcA"
    assert not compare(metadata, ["ｃＡｃＡ", "cAcA", "Ａ ｃＡｃＡｃA", "ccAｃＡA"], tmp_path)[1]


def test_ends_of_texts(tmp_path: Path) -> None:
    for keys in ({"add_eos_token": False}, {"add_bos_token": True, "bos_token_id": 0}):
        files, differing = compare(unigram(["ab"], **keys), ["ab", ""], tmp_path)
        assert not differing
        assert files.tokenizer_config is not None
        assert files.tokenizer_config["add_eos_token"] == ("add_bos_token" in keys)


def test_fillers_are_never_found_and_do_not_make_unknowns_dearer() -> None:
    files = export_tokenizer(unigram(["ab"]))
    assert files.tokenizer_json is not None
    model = json.loads(files.tokenizer_json)["model"]
    lowest = min(score for _, score in model["vocab"])
    assert lowest > -15
    assert sum(text.startswith(" ") for text, _ in model["vocab"]) == 2
    assert Tokenizer.from_buffer(files.tokenizer_json).get_vocab_size() == len(model["vocab"])


def test_what_is_needed() -> None:
    metadata = unigram(["ab"])
    for key, value in {
        "scores": None,
        "token_type": np.full(len(metadata["tokenizer.ggml.tokens"]), 3, np.int32),
    }.items():
        with pytest.raises(MobiusError, match="Unigram vocabulary needs"):
            export_tokenizer({**metadata, f"tokenizer.ggml.{key}": value})
    metadata["tokenizer.ggml.tokens"] = ["a", "b"]
    with pytest.raises(MobiusError, match="unknown_token_id"):
        export_tokenizer(metadata)
