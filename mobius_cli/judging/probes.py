"""Texts with llama.cpp's ids, and where ours part from them: what `mobius verify` judges before anything else."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from converters.checked import typed
from mobius_cli.judging.checked_json import array
from mobius_cli.runtime.text import TextCodec


@dataclass(frozen=True)
class Probe:
    """A text with llama.cpp's ids for it."""

    text: str
    ids: list[int]


@dataclass(frozen=True)
class Difference:
    """A text with other ids than in llama.cpp."""

    text: str
    ours: list[int]
    theirs: list[int]


def differing(codec: TextCodec, probes: Sequence[Probe]) -> list[Difference]:
    """The probes that the codec encodes otherwise."""
    pairs = ((probe, codec.encode(probe.text)) for probe in probes)
    return [Difference(probe.text, ours, probe.ids) for probe, ours in pairs if ours != probe.ids]


def first_difference(ours: Sequence[int], theirs: Sequence[int]) -> int | None:
    """Where two lists of ids part; None: nowhere."""
    pairs = enumerate(zip_longest(ours, theirs))
    return next((i for i, (a, b) in pairs if a != b), None)


def probes_json(probes: Sequence[Probe]) -> list[dict[str, Any]]:
    """As JSON, for a reference."""
    return [{"text": probe.text, "ids": probe.ids} for probe in probes]


def parse_probes(entries: list[Any]) -> list[Probe]:
    """Read them again. Raises ValueError, TypeError or KeyError if they are none."""
    return [Probe(typed(e["text"], str), array(e["ids"], "iu", 1).tolist()) for e in entries]
