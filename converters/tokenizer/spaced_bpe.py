"""BPE on characters: merges from the file, tokens of plain text, and byte tokens for what is no token.

It is the kind of `tokenizer.ggml.model` = gemma4, and that of gpt2 with some names in `tokenizer.ggml.pre`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from converters.tokenizer.algorithm import (
    BYTE_TOKEN_DECODER,
    SPACE,
    Algorithm,
    Build,
    Kind,
    replace,
    spaced_text_decoder,
    split,
)
from converters.tokenizer.bpe import Bpe, bpe_model, read_merges
from converters.tokenizer.genai_cuts import warn_of_genai_cuts
from converters.tokenizer.vocabulary import KEY, Vocabulary, warn_of_missing_bytes

_GENAI = "onnxruntime-genai gives other ids, for example for 'a b': encode with the tokenizers library"
_BEFORE_A_LINE = r"(?<![^\n])(?=[^\n▁])"


@dataclass(frozen=True)
class _Spaced:
    """How vocabularies with `▁` for spaces differ: called, it sets one up."""

    always_bos: bool = False
    # A run of line feeds that is a token is that token, whatever the merges would make of it.
    whole_runs: bool = False
    # Each ▁ begins a word, and each line begins with one.
    words: bool = False

    def __call__(self, metadata: Mapping[str, Any], vocabulary: Vocabulary, warnings: list[str]) -> Algorithm:
        merges = read_merges(metadata, vocabulary.ids, warnings)
        bpe = Bpe(vocabulary.ids, merges)
        warn_of_missing_bytes(vocabulary, warnings)
        if self.whole_runs:
            _warn_of_line_feeds(vocabulary, bpe, warnings)
        spaces, lines = replace(" ", SPACE), split(r"\n+", regex=True)  # no token spans the end of a line
        if self.words:
            steps = [spaces, replace(_BEFORE_A_LINE, SPACE, regex=True)]
            spaces = {"type": "Sequence", "normalizers": steps}
            lines = {"type": "Sequence", "pretokenizers": [lines, split(SPACE, behavior="MergedWithNext")]}
            warnings.append(_GENAI)
        else:
            warn_of_genai_cuts(vocabulary, bpe, False, warnings)
        return Algorithm(
            tokenizer_class="GemmaTokenizer",
            model=bpe_model(byte_fallback=True),
            normalizer=spaces,
            pre_tokenizer=lines,
            decoder=spaced_text_decoder(bytes_too=True, strip=bool(metadata.get(KEY + "add_space_prefix", False))),
            merges=list(merges),
            always_bos=self.always_bos,
        )


def _warn_of_line_feeds(vocabulary: Vocabulary, bpe: Bpe, warnings: list[str]) -> None:
    """Announce the runs of line feeds that are tokens, but not what the merges make of them."""
    tokens = vocabulary.tokens
    matched_first = vocabulary.matched_first
    runs = [text for i, text in enumerate(tokens) if not text.strip("\n") and not matched_first[i]]
    missed = [text for text in runs if bpe.tokens(text) != [text]]
    if missed:
        warnings.append(
            f"the merges do not make {len(missed)} tokens of line feeds, for example {missed[0]!r}: "
            "llama.cpp takes such a token for as many line feeds between other characters, tokenizer.json does not"
        )


def _unspaced(metadata: Mapping[str, Any], vocabulary: Vocabulary, warnings: list[str]) -> Algorithm:
    """Spaces are characters like any other; runs of white space are words of their own."""
    warn_of_missing_bytes(vocabulary, warnings)
    warnings.append(
        "llama.cpp crashes on two white-space characters of which one is a space, for example in 'a  b', and decodes "
        "such tokens as '中' to '[UNK_BYTE_0xe4b8ad中]': tokenizer.json has ids for the former, and decodes to the text"
    )
    warnings.append(_GENAI)
    return Algorithm(
        tokenizer_class="GemmaTokenizer",
        model=bpe_model(byte_fallback=True),
        normalizer=None,
        pre_tokenizer=split(r"\s+", regex=True),
        decoder=BYTE_TOKEN_DECODER,
        merges=list(read_merges(metadata, vocabulary.ids, warnings)),
    )


_GEMMA = _Spaced(always_bos=True, whole_runs=True)
SPACED_BPE = Kind("BPE with ▁ for spaces", {}, _GEMMA)
# By the name in `tokenizer.ggml.pre`, where `tokenizer.ggml.model` is gpt2.
PLAIN_TEXT: dict[str, Build] = {
    "gemma4": _GEMMA,
    "granite-embed-multi-311m": _GEMMA,
    "mmbert": _Spaced(whole_runs=True, words=True),
    "sarvam-moe": _Spaced(),
    "whitespace": _unspaced,
}
