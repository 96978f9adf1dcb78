"""Where onnxruntime-genai's BPE on whole texts (those with `▁` for spaces) gives other ids.

It cuts a text into parts before it merges: before white space once a part has more than 10 characters, and anywhere
after 101 of them. And it merges all places of the best pair at once, where others go on with what the first one made.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from converters.tokenizer.algorithm import SPACE
from converters.tokenizer.bpe import Bpe
from converters.tokenizer.vocabulary import TokenType, Vocabulary

_LONGEST_PART = 101
_LONG_WORD = "internationalization"
_TRIED = 20
# White space inside a token, which a part never has there.
_CUT_TOKEN = re.compile(f"([^{SPACE}\n\r]+)[{SPACE}\n\r].*", re.DOTALL)
# Two letters of the writings that do without spaces: Thai, Lao, Burmese, Khmer, kana, Chinese characters. In others,
# no word has 101 letters.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{2}")


def warn_of_genai_cuts(vocabulary: Vocabulary, bpe: Bpe, add_prefix: bool, warnings: list[str]) -> None:
    """Warn with examples; `bpe` is by the merges of the vocabulary."""
    prefix = SPACE * add_prefix
    words = [vocabulary.tokens[i] for i in (vocabulary.types == TokenType.NORMAL).nonzero()[0].tolist()]
    kinds = (_with_inner_space(words), _repeated(words), _unspaced(words, add_prefix))
    found = [next((text for text, cut in texts if _differs(bpe, prefix, text, cut)), None) for texts in kinds]
    examples = [_shown(text.replace(SPACE, " ")) for text in found if text is not None]
    if examples:
        warnings.append(
            "onnxruntime-genai cuts long words, and merges in another order: some texts get other ids, for example "
            f"{' or '.join(examples)}; where that matters, encode with the tokenizers library"
        )


def _differs(bpe: Bpe, prefix: str, text: str, cut: int) -> bool:
    """Whether the tokens are others if the text is cut there."""
    parts = (prefix + text[:cut], text[cut:])
    return bpe.tokens(prefix + text) != [token for part in parts for token in bpe.tokens(part, at_once=True)]


def _with_inner_space(words: Iterable[str]) -> Iterator[tuple[str, int]]:
    found = filter(None, map(_CUT_TOKEN.fullmatch, words))
    return ((_LONG_WORD + token[0], len(_LONG_WORD + token[1])) for token in islice(found, _TRIED))


def _repeated(words: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Runs of one character up to a little longer than the longest token of them."""
    longest: dict[str, int] = {}
    for text in words:
        if len(text) > 1 and text[0] == text[-1] and text == text[0] * len(text):
            longest[text[0]] = max(len(text), longest.get(text[0], 0))
    runs = ("1" + character * length for character, most in longest.items() for length in range(2, most + 2))
    return ((text, len(text)) for text in runs)


def _unspaced(words: Iterable[str], add_prefix: bool) -> Iterator[tuple[str, int]]:
    """Words again and again, the last one cut in two."""
    found = filter(_UNSPACED.fullmatch, words)
    texts = (word[1:] * add_prefix + word * (_LONGEST_PART // 2 + 1) for word in islice(found, _TRIED))
    return ((text, _LONGEST_PART - add_prefix) for text in texts)


def _shown(text: str) -> str:
    """The text in quotes, with what is repeated written once."""
    repeated = re.search(r"(.{1,2}?)\1{9,}\Z", text, re.DOTALL)
    if repeated is None:
        return repr(text)
    before, unit = text[: repeated.start()], repeated[1]
    return f"{before!r} + " * bool(before) + f"{unit!r} * {len(repeated[0]) // len(unit)}"
