"""WordPiece (`tokenizer.ggml.model` = bert): words cut greedily into the longest tokens.

In a GGUF file the tokens that begin a word begin with `▁`, and those inside have no mark: each word gets a `▁` here
too. llama.cpp's rules of what a word is are those of BERT with two turns of its own, which are kept: with accents
stripped, all marks disappear (also vowel signs of Indian scripts), and of a Korean syllable the first letter stays.
"""

from collections.abc import Mapping
from typing import Any

from converters.tokenizer.algorithm import LOWERCASE, SPACE, Algorithm, Json, Kind, replace, spaced_text_decoder, split
from converters.tokenizer.vocabulary import KEY, Vocabulary

# Longer words are unknown: cutting takes time that grows with the square of the length.
_LONGEST_WORD = 1000
_IDEOGRAPHS = (
    r"\x{3400}-\x{4DBF}\x{4E00}-\x{9FFF}\x{F900}-\x{FAFF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F}\x{2B740}-\x{2B81F}"
    r"\x{2B920}-\x{2CEAF}\x{2F800}-\x{2FA1F}"
)
_ALONE = rf"[\p{{P}}$+<=>^`|~{_IDEOGRAPHS}]"  # each is a word of its own
_DROPPED = r"[\x{0}\x{FFFD}\p{Cc}\p{Cf}\p{Co}]"
_FIRST_SYLLABLE, _SYLLABLES_PER_LETTER, _FIRST_LETTER, _LETTERS = 0xAC00, 588, 0x1100, 19


def _build(metadata: Mapping[str, Any], vocabulary: Vocabulary, warnings: list[str]) -> Algorithm:
    warnings.append("onnxruntime-genai has no WordPiece tokenizer: encode with the tokenizers library")
    lowercase = bool(metadata.get(KEY + "normalizer.lowercase", True))
    strip_accents = bool(metadata.get(KEY + "normalizer.strip_accents", lowercase))
    return Algorithm(
        tokenizer_class="PreTrainedTokenizerFast",
        model={
            "type": "WordPiece",
            "unk_token": None,
            "continuing_subword_prefix": "",
            "max_input_chars_per_word": _LONGEST_WORD + len(SPACE),
        },
        normalizer=_normalizer(lowercase, strip_accents),
        pre_tokenizer={
            "type": "Sequence",
            "pretokenizers": [
                split(" ", behavior="MergedWithNext"),
                {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "never", "split": False},
            ],
        },
        decoder=spaced_text_decoder(bytes_too=False, strip=False),
        unknown="unk_token",
        always_bos=True,
        always_sep=True,
    )


def _normalizer(lowercase: bool, strip_accents: bool) -> Json:
    """The words of a text, with one space before each."""
    steps: list[Json] = []
    if strip_accents:
        steps += [*_first_letters_of_syllables(), {"type": "NFD"}, replace(r"\p{M}", "", regex=True)]
    steps += [replace(r"\s", " ", regex=True), replace(_DROPPED, "", regex=True)]
    if lowercase:
        steps += LOWERCASE
    return {
        "type": "Sequence",
        "normalizers": [
            *steps,
            replace(rf"(?<=[\s\S])(?={_ALONE})|(?<={_ALONE})(?=[\s\S])", " ", regex=True),
            replace(" +", " ", regex=True),
            {"type": "Strip", "strip_left": True, "strip_right": True},
            {"type": "Prepend", "prepend": " "},
        ],
    }


def _first_letters_of_syllables() -> list[Json]:
    starts = range(_FIRST_SYLLABLE, _FIRST_SYLLABLE + _LETTERS * _SYLLABLES_PER_LETTER, _SYLLABLES_PER_LETTER)
    return [
        replace(rf"[\x{{{start:X}}}-\x{{{start + _SYLLABLES_PER_LETTER - 1:X}}}]", chr(_FIRST_LETTER + i), regex=True)
        for i, start in enumerate(starts)
    ]


WORDPIECE = Kind(
    "WordPiece",
    {"bos": 101, "unknown": 100, "seperator": 102, "padding": 0, "mask": 103},
    _build,
    needs_unknown=True,
)
