"""Made-up texts about the places where words end, and merges by which ids show these places."""

import itertools
import random
import unicodedata
from collections.abc import Sequence

from tests.converters.tokenizer.support.many_strings import many_strings
from tests.converters.tokenizer.support.vocab_files import byte_characters

# llama.cpp has the categories of Unicode 15, the `tokenizers` library those of Unicode 16. To llama.cpp these letters,
# marks, digits, punctuation and symbols are characters without a category. No expression can say that in a form that
# other engines know as well, so it is not said. Every vocabulary is concerned, and no model that these vocabularies
# belong to was made for such characters: `convert` does not warn of them.
_NEWER_RANGES = (
    "897 1B4E-1B4F 1B7F 1C89-1C8A 2427-2429 31E4-31E5 A7CB-A7CD A7DA-A7DC 105C0-105F3 10D40-10D65 10D69-10D85 "
    "10D8E-10D8F 10EC2-10EC4 10EFC 11380-11389 1138B 1138E 11390-113B5 113B7-113C0 113C2 113C5 113C7-113CA "
    "113CC-113D5 113D7-113D8 113E1-113E2 116D0-116E3 11BC0-11BE1 11BF0-11BF9 11F5A 13460-143FA 16100-16139 "
    "16D40-16D79 18CFF 1CC00-1CCF9 1CD00-1CEB3 1E5D0-1E5FA 1E5FF 1F8B2-1F8BB 1F8C0-1F8C1 1FA89 1FA8F 1FABE 1FAC6 "
    "1FADC 1FADF 1FAE9 1FBCB-1FBEF"
)
_ENDS = [[int(end, 16) for end in part.split("-")] for part in _NEWER_RANGES.split()]
NEWER = frozenset(chr(code) for part in _ENDS for code in range(part[0], part[-1] + 1))
_BY_CATEGORY: dict[str, list[str]] = {}
_PLANES = [range(0x3400), range(0xA000, 0xAC00), range(0xE000, 0x20000), range(0x2F800, 0x2FA1E), (0xE0100, 0xF0000)]
for _code in itertools.chain.from_iterable(_PLANES):
    if not 0xD800 <= _code < 0xE000 and chr(_code) not in NEWER:
        _BY_CATEGORY.setdefault(unicodedata.category(chr(_code)), []).append(chr(_code))
_ASCII = "aAzZbBsStTdDmMrReEvVlL0123456789.,:;!?'\"`-+*/=<>()[]{}|~^_#$%&@\\ \t\n\r\v\f\x00\x1c\x1f\x7f"
_OTHERS = (
    "éÉßſµʒ中文龥鿿あゟ゠ア한글각ᄀ㐀𠀀\u8c48\uf900\ufa6eहनमत\u094dไทย๑٣१²①Ⅳ½𝟏😀🏽€“”’…。，、！：۔،؟\u0301\u20dd▁Ġ"
)
_OTHERS += "\u0085\u00a0\u1680\u2003\u2028\u2029\u202f\u3000\u200b\u200c\u200d\ufeff\u00ad\ufffd\ufe0f\U000e0100"
_PARTS = ["'s", "'S", "'t", "'ll", "'lL", "'RE", "'ve", "'d", "'re", "'m", "'M", "a'lla", "'rev", "’s", "''", "it's"]
_PARTS += ["Don'T", "y'all'd've", "l'été", "1", "12", "123", "1234", "12345", "1234567", "1,234.50", "1a2b", "0x1F"]
_PARTS += [
    "१२३४५",
    "٣٤٥٦",
    "１２３４",
    "hello",
    " World",
    "camelCase",
    "HTTPServer",
    "ÉCOLE",
    "éÀé",
    "a\u0301b",
    " привет",
]
_PARTS += [
    "abc def ghi",
    "_x1",
    "//",
    "...",
    "->",
    " (",
    "!\n",
    "?!\r\n",
    "/\n",
    "\n/",
    "),\n",
    "};\n\n",
    "\n    return",
]
_PARTS += [
    "中文测试",
    "日本語の",
    "カタカナ",
    "한국어",
    "ภาษา",
    "हिन्दी",
    "עברית",
    "ㄅㄆ",
    "👩🏽\u200d🚀",
    "❤️",
    "\t\tif",
]
_PARTS += ["IMGIMGABCZ", "<sentinel:12>"]
_REPEATED = " \t\n\r\u3000'.!-=1a中é😀\u0301\u200d"


def word_strings(count: int, seed: int = 0, special: Sequence[str] = ()) -> list[str]:
    """The texts; some have special tokens inside."""
    rng = random.Random(seed)

    def some_part() -> str:
        choice = rng.random()
        if choice < 0.25:
            return rng.choice(_PARTS)
        if choice < 0.45:
            return rng.choice(_ASCII)
        if choice < 0.6:
            return rng.choice(_OTHERS)
        if choice < 0.7:
            return rng.choice(_BY_CATEGORY[rng.choice(list(_BY_CATEGORY))])
        if choice < 0.8:
            return rng.choice(_REPEATED) * rng.choice([2, 2, 3, 3, 4, 5, 7, 8, 9, 16, 33])
        if choice < 0.9:
            return rng.choice([" ", " ", "  ", "\n", "\n\n"])
        return rng.choice(special or _PARTS)

    texts = ["".join(some_part() for _ in range(rng.randint(1, 24))) for _ in range(count - count // 4)]
    others = ("".join(c for c in text if c not in NEWER) for text in many_strings(count // 4, seed, special=special))
    return [*texts, *others]


def merges_across_characters(
    ascii_characters: str = "aAzsSdtTrvml0129 \n\r\t\v.,!?'+$/-_^`|~()[:<",
) -> list[tuple[str, str]]:
    """A merge for each end of a character and each beginning of one, unless other ASCII characters."""
    of_byte, ascii_bytes = byte_characters(), ascii_characters.encode()
    ends, beginnings = [*ascii_bytes, *range(0x80, 0xC0)], [*ascii_bytes, *range(0xC2, 0xF5)]
    merges = [(of_byte[end], of_byte[beginning]) for end in ends for beginning in beginnings]
    random.Random(0).shuffle(merges)
    return sorted(merges, key=lambda merge: merge[0] != "'")  # apostrophes first: contractions show


def around() -> list[str]:
    """Some characters of every category, each beside letters, digits, spaces, line feeds, punctuation and itself."""
    sample = [c for same in _BY_CATEGORY.values() for c in [*same[:12], *same[12 :: len(same) // 12 + 1]]]
    return [
        f"a{c}a{c}{c}1{c}1{c}{c} {c} {c}! {c}a {c}1 {c}!{c}!{c}{c}\n{c}\n !{c}  {c}A'{c}'s{c}{c}{c}" for c in sample
    ]
