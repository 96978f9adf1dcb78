"""Architectures by the name that GGUF files give."""

from collections.abc import Callable
from dataclasses import dataclass

from converters.archs.hparams import Hparams
from converters.spec import ModelSpec

Describe = Callable[[Hparams], ModelSpec]


@dataclass(frozen=True)
class Architecture:
    """A name, what it is, and the function that reads a file's numbers."""

    name: str
    summary: str
    describe: Describe


ARCHITECTURES: dict[str, Architecture] = {}


def architecture(name: str, summary: str) -> Callable[[Describe], Describe]:
    """Register a declaration."""

    def register(describe: Describe) -> Describe:
        ARCHITECTURES[name] = Architecture(name, summary, describe)
        return describe

    return register
