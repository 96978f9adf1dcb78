"""SentencePiece-style BPE (`tokenizer.ggml.model` = llama): whole texts, merges by score, byte fallback."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from converters.tokenizer.algorithm import SPACE, Algorithm, Json, Kind, replace, spaced_text_decoder
from converters.tokenizer.bpe import Bpe, bpe_model
from converters.tokenizer.genai_cuts import warn_of_genai_cuts
from converters.tokenizer.merges import merges_by_score
from converters.tokenizer.ties import is_run
from converters.tokenizer.vocabulary import KEY, TokenType, Vocabulary, per_token, warn_of_missing_bytes
from repack.errors import MobiusError


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
    pairs = list(zip(merges.left.tolist(), merges.right.tolist(), strict=True))
    warn_of_genai_cuts(
        vocabulary, Bpe(vocabulary.ids, {pair: rank for rank, pair in enumerate(pairs)}), add_prefix, warnings
    )
    return Algorithm(
        tokenizer_class="GemmaTokenizer",
        model=bpe_model(byte_fallback=True, fuse_unk=True),
        normalizer=_normalizer(add_prefix),
        pre_tokenizer=None,
        decoder=spaced_text_decoder(bytes_too=True, strip=add_prefix),
        merges=pairs,
        unknown="unk_token",
        add_bos=True,
    )


def _normalizer(add_prefix: bool) -> Json:
    spaces = replace(" ", SPACE)
    if not add_prefix:
        return spaces
    # Like llama.cpp, and unlike Metaspace, this puts a space before every piece that follows a special token.
    return {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": SPACE}, spaces]}


def _warn_of_ties(tied: list[str], warnings: list[str]) -> None:
    if tied and not is_run(tied):  # ties between runs are settled by the order of the merges
        warnings.append(
            f"{len(tied)} tokens share their score with another, for example {tied[0]!r}: where two of them "
            "compete in a text, llama.cpp joins the leftmost first and tokenizer.json cannot say that"
        )


def _warn_of_gaps(vocabulary: Vocabulary, warnings: list[str]) -> None:
    warn_of_missing_bytes(vocabulary, warnings)
    normal = vocabulary.types == TokenType.NORMAL
    lost = [c for c in set(vocabulary.joined_text(normal)) if c not in vocabulary.ids]
    if lost:
        warnings.append(
            f"{len(lost)} characters occur in tokens but are no token themselves: "
            "text with them can get other ids than in llama.cpp"
        )


SENTENCEPIECE = Kind("SentencePiece-style BPE", {"bos": 1, "eos": 2, "unknown": 0}, _build)
