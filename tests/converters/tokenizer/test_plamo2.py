"""PLaMo-2 vocabularies (`tokenizer.ggml.model` = plamo2) against llama.cpp."""

import ctypes
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from converters.tokenizer import export_tokenizer
from repack.errors import MobiusError
from tests.converters.tokenizer.support.llama_pieces import both, compare
from tests.converters.tokenizer.support.many_strings import many_strings
from tests.converters.tokenizer.support.strings import STRINGS
from tests.converters.tokenizer.support.vocab_files import NORMAL, UNUSED, write_gguf
from tests.converters.tokenizer.support.vocab_kinds import plamo2
from tests.support.llama_library import LlamaError
from tests.support.llama_vocab import LlamaVocab

COUNT = int(os.environ.get("MOBIUS_TEST_STRINGS", "300"))
SPECIAL = ["<|plamo:unk|>", "<|plamo:bos|>", "<|plamo:eos|>", "<|plamo:op|>", "<user>", "unused", "<0x41>", "\ufeff"]
TEXTS = [*many_strings(COUNT, special=SPECIAL), *STRINGS, *SPECIAL, "", " ", "\ufeff a", "a\ufeff", "\ufeff\ufeff"]
_PER_TOKEN = ("tokens", "scores", "token_type")


def _ids(metadata: dict[str, Any], texts: Iterable[str], path: Path) -> list[tuple[list[int], list[int]]]:
    """Our ids and llama.cpp's of each text."""
    ours = Tokenizer.from_buffer(export_tokenizer(metadata).tokenizer_json)
    llama = LlamaVocab(write_gguf(path / "ids.gguf", metadata))
    try:
        return [(ours.encode(text, add_special_tokens=False).ids, llama.encode(text)) for text in texts]
    finally:
        llama.close()


def _metadata(pieces: dict[str, float], *, types: dict[str, int] | None = None) -> dict[str, Any]:
    """These pieces, and those that spell the names of byte tokens."""
    metadata = plamo2(["<0x123456789ABCDEF>"], count=0)
    metadata["tokenizer.ggml.tokens"] += pieces
    metadata["tokenizer.ggml.scores"] = [*metadata["tokenizer.ggml.scores"].tolist(), *pieces.values()]
    kinds = [(types or {}).get(piece, NORMAL) for piece in pieces]
    metadata["tokenizer.ggml.token_type"] = [*metadata["tokenizer.ggml.token_type"].tolist(), *kinds]
    return metadata


@pytest.mark.parametrize("keys", [{}, {"add_bos_token": True}, {"add_eos_token": True}], ids=["", "bos", "eos"])
def test_same_ids_but_for_ties(keys: dict[str, bool], tmp_path: Path) -> None:
    metadata = plamo2(TEXTS, **keys)
    files, differing = compare(metadata, TEXTS, tmp_path)
    scores = np.round(metadata["tokenizer.ggml.scores"].astype(np.float64) * 1e4)
    for text, (ours, theirs) in zip(differing, _ids(metadata, differing, tmp_path), strict=True):
        assert ours != theirs
        assert scores[ours].sum() == scores[theirs].sum(), repr(text)
    assert len(differing) < len(TEXTS) / 50
    assert files.add_bos == ("add_bos_token" in keys)
    assert len(files.warnings) == 1
    assert "onnxruntime-genai does not load" in files.warnings[0]


def test_runs_of_one_character_are_cut_the_other_way_round(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pieces = {c * n: float(-rng.uniform(2, 3) * n**0.5) for c in "ghijklm \n-" for n in (1, 2, 3, 5, 8, 16)}
    texts = [c * n for c in "ghijklm \n-" for n in range(1, 70)]
    ids = _ids(_metadata(pieces), texts, tmp_path)
    assert all(ours == theirs[::-1] for ours, theirs in ids)
    differing = [text for text, (ours, theirs) in zip(texts, ids, strict=True) if ours != theirs]
    shortest = next(text for text in differing if text[0] == " ")
    warning = export_tokenizer(_metadata(pieces)).warnings[1]
    assert f"for example in {len(shortest)} times ' '" in warning


def test_runs_of_equal_pieces_are_no_reason_to_warn(tmp_path: Path) -> None:
    metadata = _metadata({"g": -1.0, "ggg": -9.0, "hh": -1.0})  # an odd h becomes a byte, before or behind the others
    files, differing = compare(metadata, ["g" * n for n in range(30)], tmp_path)
    assert not differing
    assert "for example in 3 times 'h'" in files.warnings[1]
    metadata["tokenizer.ggml.tokens"][-1] = "hi"
    assert len(export_tokenizer(metadata).warnings) == 1


def test_scores_are_rounded_as_in_llama_cpp(tmp_path: Path) -> None:
    pieces = {"g": -0.00006, "h": -0.00006, "gh": -0.00014, "i": -0.03125, "j": -0.03125, "ij": -0.0625}
    pieces |= {"k": 0.03125, "l": 0.03125, "kl": 0.0625}
    texts = ["gh", "ij", "kl", "ghijklghij", "hgjilk"]
    assert not compare(_metadata(pieces), texts, tmp_path)[1]


def test_unknown_characters_cost_what_they_cost_in_llama_cpp(tmp_path: Path) -> None:
    pieces = {"g": 0.01, "h": 0.0, "zg": -999.995, "zh": -999.995, "中g": -999.995, "éh": -999.995, "zz": -999.0}
    pieces |= {"i": 0.015, "zi": -999.98, "j": 0.025, "zj": -999.98}
    texts = ["zg", "zh", "z", "zz", "zgzhz", "zi", "zj", "中g", "中h", "éh", "éé", "g中é😀h", "😀", "z\ufeffg", "\x00"]
    assert not compare(_metadata(pieces), texts, tmp_path)[1]


def test_pieces_of_all_types_but_bytes_are_used(tmp_path: Path) -> None:
    metadata = _metadata({"g": -9.0, "h": -9.0, "gh": -1.0, "hg": -2.0}, types={"gh": UNUSED, "hg": 0})
    ids = _ids(metadata, ["gh", "hgh", "<0x41>"], tmp_path)
    assert all(ours == theirs for ours, theirs in ids)
    assert [len(ours) for ours, _ in ids] == [1, 2, 6]


def test_texts_of_ids(tmp_path: Path) -> None:
    with both(plamo2(TEXTS), tmp_path) as (_, decoding):
        assert not decoding.differing(decoding.random_ids(500))
        assert not decoding.differing_pieces()
        assert not decoding.differing_streams(decoding.random_ids(500, seed=1))


def test_ids_that_the_file_does_not_name(tmp_path: Path) -> None:
    metadata = plamo2(["ab"])
    files = export_tokenizer(metadata)
    llama = LlamaVocab(write_gguf(tmp_path / "vocab.gguf", metadata))
    try:
        for role, ours in (("bos", files.bos_token_id), ("eos", files.eos_token_ids[0]), ("pad", files.pad_token_id)):
            call = getattr(llama._api, f"llama_vocab_{role}")
            call.argtypes = [ctypes.c_void_p]
            assert call(llama._vocab) == ours, role
    finally:
        llama.close()
    assert files.tokenizer_config is not None
    assert files.tokenizer_config["unk_token"] == "<|plamo:unk|>"


def _swapped(values: Any) -> list[Any]:
    values = list(values) if isinstance(values, list) else values.tolist()
    return [values[70], *values[1:70], values[0], *values[71:]]


@pytest.mark.parametrize("damage", ["no token", "of another type", "the first token"])
def test_byte_tokens_are_needed(damage: str, tmp_path: Path) -> None:
    metadata = plamo2(["ab"], count=0)
    if damage == "no token":
        metadata["tokenizer.ggml.tokens"][70] = "cd"
    elif damage == "of another type":
        metadata["tokenizer.ggml.token_type"][70] = NORMAL
    else:  # in llama.cpp 0 stands for none
        metadata |= {f"tokenizer.ggml.{key}": _swapped(metadata[f"tokenizer.ggml.{key}"]) for key in _PER_TOKEN}
    with pytest.raises(MobiusError, match="256 byte tokens"):
        export_tokenizer(metadata)
    with pytest.raises(LlamaError, match="Byte token"):
        LlamaVocab(write_gguf(tmp_path / "vocab.gguf", metadata))


@pytest.mark.parametrize("missing", ["scores", "token_type"])
def test_scores_and_types_are_needed(missing: str) -> None:
    metadata = plamo2(["ab"])
    del metadata[f"tokenizer.ggml.{missing}"]
    with pytest.raises(MobiusError, match="score for each token"):
        export_tokenizer(metadata)


def test_pieces_with_the_lowest_scores_are_announced(tmp_path: Path) -> None:
    fillers = {"[P1]": -1000.0, "[P2]": -5000.0, "[P3]": np.nan, "[P4]": np.inf, "[P5]": -np.inf}
    metadata = _metadata({"[": -1.0, "]": -1.0, "P": -1.0, "g": -1.0, **fillers})
    files, differing = compare(metadata, [*(f"g{filler}" for filler in fillers), "[P", "ggg"], tmp_path)
    assert differing == ["g[P1]"]
    assert "5 tokens with a score of -1000 or less, for example '[P1]'" in files.warnings[1]


def test_byte_names_that_cannot_be_spelled_are_announced(tmp_path: Path) -> None:
    metadata = plamo2(["<0x>"], count=0)
    files, differing = compare(metadata, ["<0x41>", "<0x>", "41"], tmp_path)
    assert differing == ["<0x41>"]
    assert "for example '<0x41>'" in files.warnings[1]


def test_genai_does_not_load_it(genai_folder: Path) -> None:
    import onnxruntime_genai as og

    files = export_tokenizer(plamo2(["ab ab"]))
    (genai_folder / "tokenizer.json").write_bytes(files.tokenizer_json)
    (genai_folder / "tokenizer_config.json").write_text(json.dumps(files.tokenizer_config), encoding="utf-8")
    with pytest.raises(RuntimeError):
        og.Tokenizer(og.Model(str(genai_folder)))
