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
    """Models whose special tokens swallow the white space that follows; no key of the file says so."""

    names: tuple[str, ...]
    except_for: tuple[str, ...]


_STRIP_RULES = (_StripRule(("phi-3", "phi3"), ("<unk>", "<s>", "<|endoftext|>")),)


def added_tokens(metadata: Mapping[str, Any], vocabulary: Vocabulary, warnings: list[str]) -> list[Json]:
    """The entries, by id."""
    name = str(metadata.get("general.name", "")).lower()
    rule = next((r for r in _STRIP_RULES if any(part in name for part in r.names)), None)
    found = np.flatnonzero(vocabulary.matched_first)
    special = (vocabulary.types[found] != TokenType.USER_DEFINED).tolist()
    texts = [vocabulary.tokens[i] for i in found.tolist()]
    _warn_of_overlaps(texts, warnings)
    return [
        {
            "id": i,
            "content": text,
            "single_word": False,
            "lstrip": False,
            "rstrip": rule is not None and text not in rule.except_for,
            "normalized": False,
            "special": hidden,
        }
        for i, text, hidden in zip(found.tolist(), texts, special, strict=True)
    ]


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
