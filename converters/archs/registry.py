"""Architectures by the name that GGUF files give, read from the modules beside this one when they are asked for."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

from converters import archs
from converters.archs.hparams import Hparams
from converters.spec import ModelSpec

Describe = Callable[[Hparams], ModelSpec]


@dataclass(frozen=True)
class Architecture:
    """A name, what it is, and the function that reads a file's numbers."""

    name: str
    summary: str
    describe: Describe


LIKE = 4  # letters that a family's module and its architectures have in common
_FOUND: dict[str, Architecture] = {}


def architecture(name: str, summary: str) -> Callable[[Describe], Describe]:
    """Register a declaration."""

    def register(describe: Describe) -> Describe:
        _FOUND[name] = Architecture(name, summary, describe)
        return describe

    return register


def find(name: str) -> Architecture | None:
    """The architecture of this name; None where there is none.

    Modules are imported until it is found, those first whose name begins like it: all take 0.1 s.
    """
    stems = [module.name for module in pkgutil.iter_modules(archs.__path__)]
    for stem in sorted(stems, key=lambda stem: not name.startswith(stem[:LIKE])):
        if name in _FOUND:
            break
        importlib.import_module(f"{archs.__name__}.{stem}")
    return _FOUND.get(name)


def architectures() -> dict[str, Architecture]:
    """All of them, by name."""
    find("")  # which no architecture has
    return _FOUND
