"""Architectures by the name that GGUF files give, read from the modules beside this one when they are asked for."""

import importlib
import pkgutil
from collections.abc import Callable, Container
from dataclasses import dataclass

from converters import archs
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import Choose, HuggingFace
from converters.spec import ModelSpec

Describe = Callable[[Hparams], ModelSpec]


@dataclass(frozen=True)
class Architecture:
    """A name, what it is, the function that reads a file's numbers, and what transformers calls such a model."""

    name: str
    summary: str
    describe: Describe
    hugging_face: HuggingFace | Choose | None = None

    def hugging_face_of(self, spec: ModelSpec, tensors: Container[str]) -> HuggingFace | None:
        """The class of transformers for a model; None where it has none."""
        return self.hugging_face(spec, tensors) if callable(self.hugging_face) else self.hugging_face


LIKE = 4  # letters that a family's module and its architectures have in common
_FOUND: dict[str, Architecture] = {}


def architecture(
    name: str, summary: str, hugging_face: HuggingFace | Choose | None = None
) -> Callable[[Describe], Describe]:
    """Register a declaration, and the class of transformers, or how it is chosen, where there is one."""

    def register(describe: Describe) -> Describe:
        _FOUND[name] = Architecture(name, summary, describe, hugging_face)
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
