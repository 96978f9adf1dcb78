"""Vocabularies of the rarer kinds as metadata, made from texts so that little of them is unknown."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.converters.tokenizer.support.many_strings import grams
from tests.converters.tokenizer.support.vocab_files import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED


def _metadata(model: str, types: dict[str, int], **keys: Any) -> dict[str, Any]:
    return {
        "tokenizer.ggml.model": model,
        "tokenizer.ggml.tokens": list(types),
        "tokenizer.ggml.token_type": np.array(list(types.values()), np.int32),
        **{f"tokenizer.ggml.{key}": value for key, value in keys.items()},
    }


def unigram(texts: Sequence[str], *, count: int = 2000, **keys: Any) -> dict[str, Any]:
    """Pieces of the texts with random scores; fillers, as in files whose vocabulary is padded."""
    special = {"<pad>": CONTROL, "</s>": CONTROL, "<unk>": UNKNOWN, "<extra>": CONTROL, "<user>": USER_DEFINED}
    fillers = {"[PAD1]": UNUSED, "[PAD2]": UNUSED, "▁unused": UNUSED}
    rng = random.Random(1)
    pieces = [p for p in grams([t.replace(" ", "▁") for t in texts], count) if p not in special and p not in fillers]
    scores = [0.0, 0.0, 0.0, 0.0, -1000.0] + [rng.uniform(-14, -2) for _ in pieces] + [-10000.0, -10000.0, -3.0]
    types = {**special, **dict.fromkeys(pieces, NORMAL), **fillers}
    return _metadata("t5", types, scores=np.array(scores, np.float32), **keys)


def plamo2(texts: Sequence[str], *, count: int = 2000, runs: bool = False, **keys: Any) -> dict[str, Any]:
    """Pieces of the texts with random scores; without `runs` none repeats one character, so that few sums tie."""
    special = dict.fromkeys(["<|plamo:bos|>", "<|plamo:eos|>", "<|plamo:pad|>", "<|plamo:op|>"], CONTROL)
    special = {"<|plamo:unk|>": UNKNOWN} | special | {"<user>": USER_DEFINED}
    special |= {f"<0x{byte:02X}>": BYTE for byte in range(256)}
    rng = random.Random(1)
    pieces = [p for p in grams(texts, count) if p not in special and (runs or len(p) == 1 or len(set(p)) > 1)]
    pieces = [p for p in pieces if len(p) > 1 or p.isascii() or rng.random() < 0.9]
    types = {**special, **dict.fromkeys(pieces, NORMAL), "unused": UNUSED}
    scores = [0.0] * len(special) + [rng.uniform(-14, -2) for _ in pieces] + [-5.0]
    return _metadata("plamo2", types, scores=np.array(scores, np.float32), **keys)


def wordpiece(texts: Sequence[str], *, count: int = 3000, **keys: Any) -> dict[str, Any]:
    """Pieces of the words as they are, in lower case and without accents, each inside and at the start of words."""
    special = dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], CONTROL) | {"<user>": USER_DEFINED}
    words = [word for text in texts for word in text.split()]
    pieces = [p for p in grams([*words, *map(str.lower, words)], count) if p not in special]
    types = {**special, **dict.fromkeys([*pieces, *("▁" + piece for piece in pieces)], NORMAL)}
    ids = {"bos_token_id": 2, "seperator_token_id": 3, "unknown_token_id": 1, "padding_token_id": 0}
    return _metadata("bert", types, **ids, **keys)


def spaced_bpe(texts: Sequence[str], *, count: int = 800, **keys: Any) -> dict[str, Any]:
    """A BPE trained on random lines: most characters are tokens, merges come in the order in which they grow."""
    special = dict.fromkeys(["<pad>", "<eos>", "<bos>", "<|turn>", "<turn|>"], CONTROL)
    special |= {"<unk>": UNKNOWN, "<user>": USER_DEFINED}
    rng = random.Random(1)
    lines = [line.replace(" ", "▁").replace("\0", "0") for text in texts for line in text.split("\n") if line]
    characters = [c for c in sorted(set("".join(lines))) if rng.random() < 0.9]
    types = {**special, **{f"<0x{byte:02X}>": BYTE for byte in range(256)}, **dict.fromkeys(characters, NORMAL)}
    merges: dict[tuple[str, str], None] = {}
    words = [list(rng.choice(lines)[:40]) for _ in range(300)]
    for _ in range(20 * count):
        word = rng.choice(words)
        place = rng.randrange(len(word))
        pair = tuple(word[place : place + 2])
        if len(merges) < count and len(pair) == 2 and all(types.get(part) == NORMAL for part in pair):
            merges[pair[0], pair[1]] = None
            types.setdefault("".join(pair), NORMAL)
            words = [_joined(other, pair) for other in words]
    for pair in (("\n", "\n"), ("\n\n", "\n\n"), ("\n\n", "\n")):
        merges[pair] = None
        types |= {"\n": NORMAL, "".join(pair): NORMAL}
    ids = {"bos_token_id": 2, "eos_token_id": 1, "unknown_token_id": 5, "padding_token_id": 0}
    return _metadata("gemma4", types, merges=[f"{a} {b}" for a, b in merges], **(ids | keys))


def _joined(word: list[str], pair: tuple[str, ...]) -> list[str]:
    joined: list[str] = []
    for part in word:
        if joined and (joined[-1], part) == pair:
            joined[-1] += part
        else:
            joined.append(part)
    return joined
