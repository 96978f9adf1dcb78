"""The bytes of `tokenizer.json`."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from converters.tokenizer.algorithm import Algorithm, Json
from converters.tokenizer.decimals import exact_decimals
from converters.tokenizer.decoder import token_decoder
from converters.tokenizer.vocabulary import Vocabulary

_CHUNK = 1 << 14


def tokenizer_json(
    vocabulary: Vocabulary,
    algorithm: Algorithm,
    added: list[Json],
    unk: int | None,
    around: tuple[int | None, int | None],
) -> bytes:
    """Write it in UTF-8; `around` has the ids that go before and after every text (None: nothing does)."""
    tokens = algorithm.tokens or vocabulary.tokens
    model = dict(algorithm.model)
    if algorithm.unknown is not None:
        name = None if unk is None else tokens[unk]
        model[algorithm.unknown] = unk if algorithm.unknown == "unk_id" else name
    whole = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": algorithm.normalizer,
        "pre_tokenizer": algorithm.pre_tokenizer,
        "post_processor": _template(tokens, around),
        "decoder": token_decoder(vocabulary, algorithm),
        "model": model,
    }
    # The long parts are put together from quoted tokens: encoding them as objects takes far longer.
    parts = [_dump(whole)[:-2].encode(), *_long_parts(tokens, algorithm)]
    return b",".join(parts) + b"}}"


def _long_parts(tokens: list[str], algorithm: Algorithm) -> Iterator[bytes]:
    # No quoted text contains a line feed, so the encoder's list can be cut there.
    quoted = json.dumps(tokens, ensure_ascii=False, separators=("\n", ":"))[1:-1].split("\n")
    if algorithm.scores is not None:
        scores = exact_decimals(algorithm.scores)
        yield b'"vocab":[%b]' % _joined(f"[{text},{score}]" for text, score in zip(quoted, scores, strict=True))
        return
    yield b'"vocab":{%b}' % _joined(f"{text}:{i}" for i, text in enumerate(quoted))
    if algorithm.merges is None:
        return
    if _must_be_pairs(tokens, algorithm.merges):
        yield b'"merges":[%b]' % _joined(f"[{quoted[left]},{quoted[right]}]" for left, right in algorithm.merges)
    else:
        yield b'"merges":[%b]' % _joined(f"{quoted[left][:-1]} {quoted[right][1:]}" for left, right in algorithm.merges)


def _joined(items: Iterator[str]) -> bytes:
    """With commas between. By chunks, and as UTF-8: as one text an emoji makes each character take four bytes."""
    return b",".join(iter(lambda: ",".join(islice(items, _CHUNK)).encode(), b""))


def _must_be_pairs(tokens: list[str], merges: list[tuple[int, int]]) -> bool:
    """Whether some reader takes a merge written as one text, which is shorter, for something else.

    `tokenizers` skips those that look like the head of a merges.txt; onnxruntime-genai drops carriage
    returns, and does not come past a first merge that looks like a comment.
    """
    first = tokens[merges[0][0]] if merges else ""
    return first.startswith("#") or any("\r" in text or text.startswith("#version") for text in tokens)


def _template(tokens: list[str], around: tuple[int | None, int | None]) -> Json | None:
    """A post-processor that puts these ids around a text, or each text of a pair."""
    before, after = ([] if i is None else [i] for i in around)
    if not before and not after:
        return None

    def one(sequence: str, type_id: int) -> list[Json]:
        def special(i: int) -> Json:
            return {"SpecialToken": {"id": tokens[i], "type_id": type_id}}

        text = {"Sequence": {"id": sequence, "type_id": type_id}}
        return [*map(special, before), text, *map(special, after)]

    return {
        "type": "TemplateProcessing",
        "single": one("A", 0),
        "pair": one("A", 0) + one("B", 1),
        "special_tokens": {tokens[i]: {"id": tokens[i], "ids": [i], "tokens": [tokens[i]]} for i in before + after},
    }


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
