"""The `added_tokens` of tokenizer.json: tokens that are found in the text before anything else."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from converters.tokenizer.algorithm import Json
from converters.tokenizer.ties import is_run
from converters.tokenizer.vocabulary import TokenType, Vocabulary


@dataclass(frozen=True)
class _StripRule:
    """Models whose special tokens swallow the white space beside them; no key of the file says so."""

    key: str
    parts: tuple[str, ...]  # the value of the key, in lower case, has one of these in it
    side: str  # "lstrip" or "rstrip"
    only: tuple[str, ...] = ()
    except_for: tuple[str, ...] = ()

    def fits(self, metadata: Mapping[str, Any]) -> bool:
        value = str(metadata.get(self.key, "")).lower()
        return any(part in value for part in self.parts)

    def strips(self, text: str) -> bool:
        return text in self.only if self.only else text not in self.except_for


# The first that fits counts. llama.cpp also has one for architectures whose tokenizers drop spaces there anyway.
_STRIP_RULES = (
    _StripRule("tokenizer.ggml.pre", ("jina-v2-de", "jina-v2-es", "jina-v2-code", "mmbert"), "lstrip", ("<mask>",)),
    _StripRule("general.name", ("phi-3", "phi3"), "rstrip", except_for=("<unk>", "<s>", "<|endoftext|>")),
    _StripRule("general.name", ("modern-bert",), "lstrip", ("[MASK]",)),
)


def added_tokens(metadata: Mapping[str, Any], vocabulary: Vocabulary, warnings: list[str]) -> list[Json]:
    """The entries, by id."""
    rule = next((rule for rule in _STRIP_RULES if rule.fits(metadata)), None)
    found = np.flatnonzero(vocabulary.matched_first)
    special = (vocabulary.types[found] != TokenType.USER_DEFINED).tolist()
    texts = [vocabulary.tokens[i] for i in found.tolist()]
    _warn_of_overlaps(texts, warnings)
    stripping = {text: rule.side for text in texts if rule.strips(text)} if rule else {}
    _warn_of_strips(stripping, texts, warnings)
    return [
        {
            "id": i,
            "content": text,
            "single_word": False,
            "lstrip": stripping.get(text) == "lstrip",
            "rstrip": stripping.get(text) == "rstrip",
            "normalized": False,
            "special": hidden,
        }
        for i, text, hidden in zip(found.tolist(), texts, special, strict=True)
    ]


def _warn_of_strips(stripping: Mapping[str, str], texts: Sequence[str], warnings: list[str]) -> None:
    spaces = ["\u3000", *(text for text in texts if text.isspace())][:2]
    for text, side in list(stripping.items())[:1]:
        before = side == "lstrip"
        examples = " and ".join(repr(f"a{space}{text}" if before else f"{text}{space}a") for space in spaces)
        warnings.append(
            f"{len(stripping)} special tokens swallow the white space that {'precedes' if before else 'follows'}: in "
            "llama.cpp that of ASCII, also where it is a token; with tokenizer.json all of it but such tokens; "
            f"ids differ for example in {examples}"
        )


def _warn_of_overlaps(texts: Sequence[str], warnings: list[str]) -> None:
    """Where two overlap in a text, llama.cpp takes the longer and `tokenizers` the one on the left."""
    by_first = defaultdict(list)
    # Two runs of one character never compete; files have many of them (line feeds, spaces).
    by_first_no_runs = defaultdict(list)
    for text in texts:
        by_first[text[0]].append(text)
        if not is_run([text]):
            by_first_no_runs[text[0]].append(text)
    firsts = set(by_first)
    pairs = [
        (text, longer)
        for text in texts
        if not firsts.isdisjoint(text[1:])
        for cut in range(1, len(text))
        for longer in (by_first_no_runs if is_run([text]) else by_first).get(text[cut], ())
        if _compete(text, cut, longer)
    ]
    if pairs:
        first, second = pairs[0]
        warnings.append(
            f"special tokens can overlap in a text ({len(pairs)} pairs, for example {first!r} and "
            f"{second!r}): llama.cpp then takes the longer, tokenizer.json the one on the left"
        )


def _compete(text: str, cut: int, longer: str) -> bool:
    """Whether `longer` can begin inside `text`, at `cut`, and run on beyond its end."""
    return longer.startswith(text[cut:]) and len(longer.encode()) > len(text.encode())
