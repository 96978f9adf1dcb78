"""SentencePiece-style BPE (`tokenizer.ggml.model` = llama): whole texts, merges by score, byte fallback."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from converters.tokenizer.algorithm import Algorithm, Json, Kind
from converters.tokenizer.merges import merges_by_score
from converters.tokenizer.ties import is_run
from converters.tokenizer.vocabulary import KEY, TokenType, Vocabulary, per_token
from repack.errors import MobiusError

_SPACE = "▁"
_BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]


def _build(metadata: Mapping[str, Any], vocabulary: Vocabulary, warnings: list[str]) -> Algorithm:
    tokens = vocabulary.tokens
    scores = per_token(metadata, "scores", len(tokens), np.float32)
    if scores is None or not np.isfinite(scores).all():
        raise MobiusError("a SentencePiece-style vocabulary needs a finite score for each token (scores)")
    mergeable = ~vocabulary.matched_first
    merges, tied = merges_by_score(tokens, scores, mergeable)
    _warn_of_ties([tokens[i] for i in tied], warnings)
    _warn_of_gaps(vocabulary, warnings)
    add_prefix = bool(metadata.get(KEY + "add_space_prefix", True))
    return Algorithm(
        tokenizer_class="GemmaTokenizer",
        merges=list(zip(merges.left.tolist(), merges.right.tolist(), strict=True)),
        normalizer=_normalizer(add_prefix),
        pre_tokenizer=None,
        decoder=_decoder(add_prefix),
        add_bos=True,
        keeps_unknown=True,
        model_options={"byte_fallback": True, "fuse_unk": True},
    )


def _normalizer(add_prefix: bool) -> Json:
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE}
    if not add_prefix:
        return replace
    # Like llama.cpp, and unlike Metaspace, this puts a space before every piece that follows a special token.
    return {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": _SPACE}, replace]}


def _decoder(add_prefix: bool) -> Json:
    steps: list[Json] = [
        {"type": "Replace", "pattern": {"String": _SPACE}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    if add_prefix:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": steps}


def _warn_of_ties(tied: list[str], warnings: list[str]) -> None:
    if tied and not is_run(tied):  # ties between runs are settled by the order of the merges
        warnings.append(
            f"{len(tied)} tokens share their score with another, for example {tied[0]!r}: where two of them "
            "compete in a text, llama.cpp joins the leftmost first and tokenizer.json cannot say that"
        )


def _warn_of_gaps(vocabulary: Vocabulary, warnings: list[str]) -> None:
    missing = [text for text in _BYTE_TOKENS if text not in vocabulary.ids]
    if missing:
        warnings.append(f"{len(missing)} of the 256 byte tokens are missing: unknown characters may be lost")
    normal = vocabulary.types == TokenType.NORMAL
    lost = [c for c in set(vocabulary.joined_text(normal)) if c not in vocabulary.ids]
    if lost:
        warnings.append(
            f"{len(lost)} characters occur in tokens but are no token themselves: "
            "text with them can get other ids than in llama.cpp"
        )


SENTENCEPIECE = Kind(default_ids={"bos": 1, "eos": 2, "unknown": 0}, build=_build)
