"""Where words differ from llama.cpp's all the same: characters that are newer than its tables.

llama.cpp has the categories of Unicode 15, the `tokenizers` library those of Unicode 16. To llama.cpp the
letters, marks, digits, punctuation and symbols below are characters without a category. No expression can say
that in a form that other engines know as well, so it is not said. Every vocabulary is concerned, and no model
that these vocabularies belong to was made for such characters: `convert` does not warn of them.
"""

_NEWER = (
    "897 1B4E-1B4F 1B7F 1C89-1C8A 2427-2429 31E4-31E5 A7CB-A7CD A7DA-A7DC 105C0-105F3 10D40-10D65 10D69-10D85 "
    "10D8E-10D8F 10EC2-10EC4 10EFC 11380-11389 1138B 1138E 11390-113B5 113B7-113C0 113C2 113C5 113C7-113CA "
    "113CC-113D5 113D7-113D8 113E1-113E2 116D0-116E3 11BC0-11BE1 11BF0-11BF9 11F5A 13460-143FA 16100-16139 "
    "16D40-16D79 18CFF 1CC00-1CCF9 1CD00-1CEB3 1E5D0-1E5FA 1E5FF 1F8B2-1F8BB 1F8C0-1F8C1 1FA89 1FA8F 1FABE 1FAC6 "
    "1FADC 1FADF 1FAE9 1FBCB-1FBEF"
)


def newer_characters() -> frozenset[str]:
    """The characters that count as letters, marks, digits, punctuation or symbols on our side only."""
    ends = [[int(end, 16) for end in part.split("-")] for part in _NEWER.split()]
    return frozenset(chr(code) for part in ends for code in range(part[0], part[-1] + 1))
