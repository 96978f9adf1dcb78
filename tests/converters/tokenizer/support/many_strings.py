"""Any number of made-up texts, and vocabularies made from them, so that little of a text is unknown."""

import random
import unicodedata
from collections.abc import Iterable, Sequence

from tests.converters.tokenizer.support.strings import STRINGS

_BY_CATEGORY: dict[str, list[str]] = {}
for _code in range(1, 0x30000):
    if not 0xD800 <= _code < 0xE000 and (_category := unicodedata.category(chr(_code))) != "Cn":
        _BY_CATEGORY.setdefault(_category, []).append(chr(_code))
_SCRIPTS = ["abcdefghijklmnopqrstuvwxyz", "ABCDEFG", "0123456789", "éèüñçøåß", "абвгдежз", "αβγδάέ", "אבגדה", "ابتثج"]
_SCRIPTS += ["अआइकखगािी", "กขคงาำ", "中文字测试国", "ひらがなカタカナガ", "한국어문장각", "각ᄂ"]
_SCRIPTS += ["😀👍🏽🇩🇪", "ＡＢｃ１２", "ﬁﬂ①½㎏…"]
_GAPS = [" ", " ", " ", "  ", "   ", " " * 9, "\n", "\n\n", "\n" * 5, "\t", "\r\n", "\r", "\u00a0", "\u3000", "\u2028"]
_ODD = list("\u200b\u200d\ufeff\u00ad\ufe0f\u0301\u0323\u0308\u20dd\x01\x7f\ufffd")
_CODE = ["def f(x):\n    return x\n", "a[i] += 1;", "</div>", "{'k': 1}", "x->y", "// c\n", "0x1F", "__init__", "`q`"]


def many_strings(count: int, seed: int = 0, *, special: Sequence[str] = ()) -> list[str]:
    """The texts: words of one script or of several, code, odd characters, special tokens, any character at all."""
    rng = random.Random(seed)

    def word() -> str:
        script = rng.choice(_SCRIPTS)
        return "".join(rng.choice(script) for _ in range(rng.randint(1, 8)))

    def any_character() -> str:
        return rng.choice(_BY_CATEGORY[rng.choice(list(_BY_CATEGORY))])

    def quoted() -> str:
        text = rng.choice(STRINGS)[:30]
        return unicodedata.normalize(rng.choice(["NFC", "NFD"]), text)

    parts = [word, word, word, any_character, lambda: rng.choice(_ODD), lambda: rng.choice(_CODE), quoted]
    parts += [lambda: rng.choice(special)] if special else []
    parts += [lambda: rng.choice(".,;:!?'\"()-<>$+^~|=@#%&*/\\_")]
    texts = []
    for _ in range(count):
        pieces = []
        for _ in range(rng.randint(1, 12)):
            pieces.append(rng.choice(parts)())
            if rng.random() < 0.6:
                pieces.append(rng.choice(_GAPS))
        texts.append("".join(pieces))
    return texts


def grams(texts: Iterable[str], count: int, seed: int = 0) -> list[str]:
    """Every character of the texts, and up to `count` longer pieces of them, all distinct."""
    rng, texts = random.Random(seed), [text for text in texts if text]
    found = dict.fromkeys(sorted({c for text in texts for c in text} - {"\0"}))  # GGUF texts end at a NUL
    wanted = len(found) + count
    for _ in range(20 * count):
        text = rng.choice(texts)
        start = rng.randrange(len(text))
        if len(found) < wanted:
            found.setdefault(text[start : start + rng.randint(2, 6)].replace("\0", "0"))
    return list(found)
