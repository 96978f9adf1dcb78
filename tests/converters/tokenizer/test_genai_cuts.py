"""The texts that `convert` names get other ids in onnxruntime-genai, and those beside them do not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from converters.sources.gguf.file import GgufFile
from converters.tokenizer import export_tokenizer
from converters.tokenizer.bpe import Bpe
from converters.tokenizer.genai_cuts import warn_of_genai_cuts
from converters.tokenizer.sentencepiece import SENTENCEPIECE
from converters.tokenizer.vocabulary import read_vocabulary
from tests.converters.tokenizer.support.vocab_files import sentencepiece
from tests.support.genai import genai_ids, genai_tokenizer

_LETTERS = dict.fromkeys("▁abilnortez1;- \r你好", -100.0)
_PLAIN = _LETTERS | {"na": -1.0, "▁a": -2.0, "--": -3.0, "----": -4.0}


def _examples(metadata: Mapping[str, Any]) -> list[str]:
    vocabulary, warnings = read_vocabulary(metadata, []), []
    merges = SENTENCEPIECE.build(metadata, vocabulary, []).merges or []
    prefix = bool(metadata.get("tokenizer.ggml.add_space_prefix", True))
    bpe = Bpe(vocabulary.ids, {pair: rank for rank, pair in enumerate(merges)})
    warn_of_genai_cuts(vocabulary, bpe, prefix, warnings)
    return [eval(text) for w in warnings for text in w.partition("example ")[2].partition("; where")[0].split(" or ")]


def _differing(metadata: Mapping[str, Any], texts: list[str], genai_folder: Path) -> list[str]:
    files = export_tokenizer(metadata)
    genai, ours = genai_tokenizer(genai_folder, files), Tokenizer.from_buffer(files.tokenizer_json)
    return [text for text in texts if genai_ids(genai, text) != ours.encode(text, add_special_tokens=False).ids]


@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize(
    ("pieces", "examples"),
    [
        ({}, []),
        ({";\r": -1.5}, ["internationalization;\r"]),
        ({"---": -2.5}, ["1----"]),
        ({"你好": -1.5}, ["你好" * 51]),
        ({"你好": -1.5, "好你": -1.6}, ["你好" * 51]),
        ({"na;\r": -1.5}, []),  # no merges make it
    ],
)
def test_examples(pieces: dict[str, float], examples: list[str], prefix: bool, genai_folder: Path) -> None:
    metadata = sentencepiece(_PLAIN | pieces, add_space_prefix=prefix)
    if prefix:
        examples = ["好" + text if "你" in text else text for text in examples]
    assert _examples(metadata) == examples
    assert _differing(metadata, examples, genai_folder) == examples
    assert not _differing(metadata, ["a na --", "nation;", "你好" * 50, "1--"], genai_folder)


@pytest.mark.real
def test_gemma_3(gemma_gguf: Path, genai_folder: Path) -> None:
    with GgufFile.open(gemma_gguf) as source:
        metadata = dict(source.metadata)
    examples = _examples(metadata)
    assert examples == ["internationalization> </", "ます" * 51]
    assert _differing(metadata, examples, genai_folder) == examples
