r"""The regular expressions by which byte-level BPE cuts text into words.

They say what llama.cpp does, which is not always what its expressions say: it has hand-written code for some
of them, and shows the others one category in place of every character beyond ASCII. So there

* letters beyond ASCII have no case: each counts as a capital and as a small letter,
* digits grouped from the right keep the text before them in their first group,
* white space beyond ASCII is in no range of characters.

Written without `&&`, `\x{}` and possessive quantifiers, which not every engine knows.
"""

_ANY_CASE = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_SPACES = r"\s+(?!\S)|\s+"
_LINES_AND_SPACES = rf"\s*[\r\n]+|{_SPACES}"
_LEAD = r"[^\r\n\p{L}\p{N}]?"
_OTHERS = r" ?[^\s\p{L}\p{N}]+"
_MARKED = r"[\p{L}\p{M}]"

DIGIT = r"\p{N}"
DIGITS = r"\p{N}+"
UP_TO_3_DIGITS = r"\p{N}{1,3}"
THREE_ASCII_DIGITS = "[0-9][0-9][0-9]"
# Every three digits from the right, each group with what comes before it since the last one. The second part
# matches nothing new, but ends the search where there are no more digits.
DIGITS_FROM_THE_RIGHT = r"\P{N}*\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))|\P{N}+"
# Places to cut at: nothing is matched.
BEFORE_GROUPS_OF_3 = "(?=([0-9]{3})+(?![0-9]))"

LINE_ENDS = r"[\r\n]"
LINE_FEEDS = r"\n+"
PUNCTUATION = r"[\p{P}$+<=>^~|]+"
PUNCTUATION_AND_BACKTICK = r"[\p{P}$+<=>^~|`]+"
ONE_PUNCTUATION = r"[\p{P}!-/:-@\[-`{-~]"
NOT_SENTENCE_MARKS = r" ?[^(\s|.,!?…。，、।۔،)]+"
CHINESE_OR_KANA = "[一-龥぀-ゟ゠-ヿ]+"

GPT2 = rf"'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+|{_OTHERS}|{_SPACES}"

_PUNCTUATED = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"| ?[\p{P}\p{S}]+"
)
DEEPSEEK_V3 = rf"{_PUNCTUATED}[\r\n]*|{_LINES_AND_SPACES}"
SPARK = rf"{_PUNCTUATED}|{LINE_ENDS}|{_SPACES}"

# White space is excluded by hand: these ranges have some.
_CHINESE_TO_KOREAN = "(?:(?!\\s)[\u0800-\u9fa5\uac00-\ud7ff])+"
DEEPSEEK_CODER = (LINE_ENDS, r"\s?\p{L}+", r"\s?\p{P}+", _CHINESE_TO_KOREAN, DIGIT)
# Letters that have a case, as of some version of Unicode.
_CASED = (
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅ"
    "ὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳ"
    "Ꙁ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
)
DEEPSEEK_LLM = (
    LINE_ENDS,
    rf"\s?[{_CASED}]+",
    r"\s?[!-/:-~！-／：-～‘-‟、。]+",
    r"\s+$",
    _CHINESE_TO_KOREAN,
    DIGITS,
)

YOUTU_SCRIPTS = "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|" + CHINESE_OR_KANA
# llama.cpp's list has a range from U+8C48 on where U+F900 was meant, which looks the same: it spans Yi and more.
AFMOE_SCRIPTS = (
    "[\u0e40-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2f00-\u2fdf\u3040-\u30ff\u3400-\u4dbf"
    "\u4e00-\ufaff\uff65-\uff9f]+"
)
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ebef\U0002f800-\U0002fa1f"

SENTINEL = "<sentinel:[0-9]+>"
IMAGE = "IMGIMG[A-I]{1,4}Z"
TABS_LINE_FEEDS_INDENTS = r"[\t\n]|    |  "


def words(digits: str, letters: str = r"\p{L}", word: str = r"\p{L}\p{N}") -> str:
    """Llama 3's expression: contractions, words, digits, other characters, lines, spaces."""
    return rf"{_ANY_CASE}|{_LEAD}{letters}+|{digits}| ?[^\s{word}]+[\r\n]*|{_LINES_AND_SPACES}"


WORDS_WITH_MARKS = words(DIGIT, letters=_MARKED, word=r"\p{L}\p{M}\p{N}")
WORDS_WITHOUT_CONTRACTIONS = words(DIGIT).removeprefix(_ANY_CASE + "|")
WORDS_BEFORE_LINES = rf"{_ANY_CASE}|{_LEAD}\p{{L}}+|{DIGIT}|{_OTHERS}|{_LINES_AND_SPACES}"
# Phrases: the spaces between words are inside.
EXAONE_MOE = (
    rf"{_ANY_CASE}|{_LEAD}(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|{DIGIT}|{_OTHERS}[\r\n/]?|{_LINES_AND_SPACES}"
)
_HALVINGS = "|".join(rf"\s{{{count}}}(?!\S)" for count in (512, 256, 128, 64, 32, 16, 8, 4, "1,2"))
JAIS2 = rf"{_ANY_CASE}|{_LEAD}\p{{L}}+|{UP_TO_3_DIGITS}|{_OTHERS}[\r\n]*|\s*[\r\n]+|{_HALVINGS}|\s"
KIMI = rf"[{_HAN}]+|{_LEAD}[^\P{{L}}{_HAN}]+{_ANY_CASE}?|{UP_TO_3_DIGITS}|{_OTHERS}[\r\n]*|{_LINES_AND_SPACES}"


def marked_words(digits: str) -> str:
    """Words of letters and marks, with their contraction."""
    return rf"{_LEAD}{_MARKED}+{_ANY_CASE}?|{digits}|{_OTHERS}[\r\n/]*|{_LINES_AND_SPACES}"


def camel_case(digits: str, *, marks: bool = False, contractions: bool = True) -> str:
    """Words that end before a capital letter which follows a small one."""
    capital, small = (rf"(?:[^{other}\P{{L}}]|\p{{M}})" if marks else rf"[^{other}\P{{L}}]" for other in ("a-z", "A-Z"))
    tail = f"{_ANY_CASE}?" if contractions else ""
    return (
        rf"{_LEAD}{capital}*{small}+{tail}|{_LEAD}{capital}+{small}*{tail}"
        rf"|{digits}|{_OTHERS}[\r\n/]*|{_LINES_AND_SPACES}"
    )
