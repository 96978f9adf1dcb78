"""Where onnxruntime-genai's BPE on whole texts (those with `▁` for spaces) gives other ids.

It cuts a text into parts before it merges: before white space once a part has more than 10 characters, and anywhere
after 101 of them. And it merges all places of the best pair at once, where others go on with what the first one made.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from converters.tokenizer.algorithm import SPACE
from converters.tokenizer.vocabulary import TokenType, Vocabulary

_LONGEST_PART = 101
_LONG_WORD = "internationalization"
_TRIED = 20
# White space inside a token, which a part never has there.
_CUT_TOKEN = re.compile(f"([^{SPACE}\n\r]+)[{SPACE}\n\r].*", re.DOTALL)
# Two letters of the writings that do without spaces: Thai, Lao, Burmese, Khmer, kana, Chinese characters. In others,
# no word has 101 letters.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{2}")


def warn_of_genai_cuts(
    vocabulary: Vocabulary, merges: Sequence[tuple[int, int]], add_prefix: bool, warnings: list[str]
) -> None:
    """Warn with examples; `merges` has the ids of each pair, the first to apply first."""
    ranks = dict(zip(reversed(merges), range(len(merges), 0, -1), strict=True))
    bpe = _Bpe(vocabulary.ids, ranks, SPACE * add_prefix)
    words = [vocabulary.tokens[i] for i in (vocabulary.types == TokenType.NORMAL).nonzero()[0].tolist()]
    kinds = (_with_inner_space(words), _repeated(words), _unspaced(words, add_prefix))
    found = [next((text for text, cut in texts if bpe.differs(text, cut)), None) for texts in kinds]
    examples = [_shown(text.replace(SPACE, " ")) for text in found if text is not None]
    if examples:
        warnings.append(
            "onnxruntime-genai cuts long words, and merges in another order: some texts get other ids, for example "
            f"{' or '.join(examples)}; where that matters, encode with the tokenizers library"
        )


@dataclass(frozen=True)
class _Bpe:
    ids: Mapping[str, int]
    ranks: Mapping[tuple[int, int], int]
    prefix: str

    def differs(self, text: str, cut: int) -> bool:
        """Whether the tokens are others if the text is cut there."""
        parts = (self.prefix + text[:cut], text[cut:])
        return self._tokens(self.prefix + text) != [token for part in parts for token in self._tokens(part, True)]

    def _tokens(self, text: str, at_once: bool = False) -> list[str]:
        """The best pair is joined first, the leftmost on ties; all its places `at_once` if asked."""
        symbols = list(text)
        while usable := [(self.ranks[pair], i) for i, pair in enumerate(self._pairs(symbols)) if pair in self.ranks]:
            first = min(usable)[1]
            symbols = list(_joined(symbols, first, len(symbols) if at_once else 1))
        return symbols

    def _pairs(self, symbols: Iterable[str]) -> Iterator[tuple[int, int]]:
        return pairwise(self.ids.get(symbol, -1) for symbol in symbols)


def _joined(symbols: list[str], first: int, times: int) -> Iterator[str]:
    """The symbols with the pair at `first` joined, there and where it comes again, so many times."""
    pair, i = symbols[first : first + 2], 0
    while i < len(symbols):
        join = times > 0 and i >= first and symbols[i : i + 2] == pair
        yield "".join(pair) if join else symbols[i]
        i, times = i + 1 + join, times - join


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
