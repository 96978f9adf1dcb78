"""Special tokens: ids with a role, those that llama.cpp recognizes by their text, and those never to be generated."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converters.tokenizer.vocabulary import KEY, TokenType, Vocabulary
from repack.errors import InputError

# Generation stops at these, whatever the metadata says.
_END_OF_GENERATION = (
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
    "<|ifm|im_end|>",
)

# Part of the visible reply format of some models, though their files call them control tokens.
_SHOWN = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")

# Where all of these stop generation, the token on the right does not: there it is an inner mark.
_INNER_MARKS = (
    ({"<|return|>", "<|call|>"}, "<|end|>", TokenType.USER_DEFINED),
    ({"<|return|>", "<|calls|>"}, "<|end|>", TokenType.USER_DEFINED),
    ({"<|flush|>", "<|call|>"}, "<|end|>", TokenType.USER_DEFINED),
    ({"<|flush|>", "<|calls|>"}, "<|end|>", TokenType.USER_DEFINED),
    ({"<|tool_response>"}, "</s>", TokenType.NORMAL),
    ({"<|plamo:eos|>"}, "</s>", TokenType.NORMAL),
)


@dataclass(frozen=True)
class _Infill:
    """A fill-in-the-middle role: named by a key of the metadata, else found by its text."""

    keys: tuple[str, ...]
    texts: tuple[str, ...]
    stops: bool = False


def _marks(word: str, *others: str) -> tuple[str, ...]:
    return (f"<|fim_{word}|>", f"<fim-{word}>", f"<fim_{word}>", *others)


_INFILLS = (
    _Infill(
        ("fim_pre_token_id", "prefix_token_id"),
        _marks("prefix", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>", "<|prefix|>", "<|plamo:fim_prefix|>"),
    ),
    _Infill(
        ("fim_suf_token_id", "suffix_token_id"),
        _marks("suffix", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>", "<|suffix|>", "<|plamo:fim_suffix|>"),
    ),
    _Infill(
        ("fim_mid_token_id", "middle_token_id"),
        _marks("middle", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>", "<|middle|>", "<|plamo:fim_middle|>"),
    ),
    _Infill(("fim_pad_token_id",), _marks("pad", "<PAD>", "[PAD]"), stops=True),
    _Infill(
        ("fim_rep_token_id",),
        ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"),
        stops=True,
    ),
    _Infill(("fim_sep_token_id",), ("<|file_sep|>", "<|plamo:file_separator|>"), stops=True),
)


@dataclass(frozen=True)
class SpecialTokens:
    """Ids with a role (None: the model has none), and the token types after llama.cpp's corrections."""

    bos: int | None
    eos: int | None
    unk: int | None
    pad: int | None
    sep: int | None
    mask: int | None
    # Generation ends at each of these; the first is EOS, if there is one.
    stops: tuple[int, ...]
    types: NDArray[np.int32]
    # Those of the ids that the file does not give.
    assumed: Mapping[str, int]


def read_special_tokens(
    metadata: Mapping[str, Any], vocabulary: Vocabulary, defaults: Mapping[str, int], warnings: list[str]
) -> SpecialTokens:
    """Read the ids with a role; `defaults` has what the tokenizer kind assumes for absent keys."""
    ids = vocabulary.ids
    roles = {
        role: _read_id(metadata, f"{role}_token_id", len(ids), warnings)
        for role in ("bos", "eos", "unknown", "padding", "seperator", "mask", "eot", "eom")  # the key's spelling
    }
    assumed = {role: i for role, i in defaults.items() if roles[role] is None and i < len(ids)}
    roles |= assumed
    types = vocabulary.types.copy()
    stops = {ids[text] for text in _END_OF_GENERATION if text in ids}
    types[list(stops)] = TokenType.CONTROL
    for infill in _INFILLS:
        chosen = [_read_id(metadata, key, len(ids), warnings) for key in infill.keys]
        found = [i for i in chosen if i is not None][-1:]
        if not found:
            texts = [text for text in infill.texts if text in ids]
            if infill.stops and len(texts) > 1:
                warnings.append(
                    f"{' and '.join(map(repr, texts))} have the same role by their text: generation ends at the first "
                    "here, and in llama.cpp at one of them, by chance"
                )
            found = [ids[text] for text in texts[:1]]
            types[found] = TokenType.CONTROL
        if infill.stops:
            stops.update(found)
    types[[ids[text] for text in _SHOWN if text in ids]] = TokenType.USER_DEFINED
    eos = roles["eos"]
    stops.update(i for i in (eos, roles["eot"], roles["eom"]) if i is not None)
    _remove_inner_marks(stops, types, ids)
    if not stops:
        warnings.append("the file names no token that ends generation: it goes on to the length limit")
    order = sorted(stops, key=lambda i: (i != eos, i))
    return SpecialTokens(
        bos=roles["bos"],
        eos=eos,
        unk=roles["unknown"],
        pad=roles["padding"],
        sep=roles["seperator"],
        mask=roles["mask"],
        stops=tuple(order),
        types=types,
        assumed=assumed,
    )


def settle_assumed(
    special: SpecialTokens, vocabulary: Vocabulary, bos_used: bool, warnings: list[str]
) -> SpecialTokens:
    """Announce the ordinary tokens that get a role because the file names none; without such a BOS if nothing uses it.

    `vocabulary` has the types after llama.cpp's corrections.
    """
    ordinary = {role: i for role, i in special.assumed.items() if not vocabulary.matched_first[i]}
    uses = {"eos": "generation ends at", "bos": "every text begins with"}
    for role in ("eos", "bos") if bos_used else ("eos",):
        if role in ordinary:
            token = f"token {ordinary[role]}, {vocabulary.tokens[ordinary[role]]!r}"
            key = f"{KEY}{role}_token_id"
            warnings.append(f"the file names no {role.upper()} token ({key}): like in llama.cpp, {uses[role]} {token}")
    return special if bos_used or "bos" not in ordinary else replace(special, bos=None)


def read_suppressed(metadata: Mapping[str, Any], tokens: list[str], warnings: list[str]) -> tuple[int, ...]:
    """Ids of the tokens that must never be generated, in order; ids out of range are left out, as in llama.cpp.

    Raises:
        InputError: they are not a list of integers.
    """
    values = metadata.get(KEY + "suppress_tokens")
    if values is None:
        return ()
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iu":
        raise InputError(f"{KEY}suppress_tokens is not a list of token ids")
    ids = tuple(sorted({int(i) for i in values if 0 <= i < len(tokens)}))
    if ids:
        warnings.append(
            f"{len(ids)} tokens must never be generated, for example {tokens[ids[0]]!r} (suppress_tokens of "
            "generation_config.json, which `mobius run` follows): onnxruntime-genai has no such setting"
        )
    return ids


def _remove_inner_marks(stops: set[int], types: NDArray[np.int32], ids: Mapping[str, int]) -> None:
    for companions, text, kind in _INNER_MARKS:
        if ids.get(text) in stops and _all_in(companions, stops, ids):
            stops.remove(ids[text])
            types[ids[text]] = kind


def _all_in(texts: Iterable[str], stops: set[int], ids: Mapping[str, int]) -> bool:
    return all(ids.get(text) in stops for text in texts)


def _read_id(metadata: Mapping[str, Any], key: str, count: int, warnings: list[str]) -> int | None:
    value = metadata.get(KEY + key)
    if value is None:
        return None
    if not 0 <= int(value) < count:
        warnings.append(f"{KEY}{key} is {value}, but there are {count} tokens: ignored")
        return None
    return int(value)
