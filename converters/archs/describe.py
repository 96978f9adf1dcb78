"""From a file to its ModelSpec."""

import difflib
import importlib
import pkgutil

from converters import archs
from converters.archs.hparams import Hparams
from converters.archs.registry import ARCHITECTURES
from converters.sources.source import Source
from converters.spec import ModelSpec
from repack.errors import MobiusError

for module in pkgutil.iter_modules(archs.__path__):  # importing them fills the registry
    importlib.import_module(f"{archs.__name__}.{module.name}")


def describe(source: Source) -> tuple[ModelSpec, list[str]]:
    """The model's numbers, and warnings.

    Raises:
        MobiusError: the architecture, or something that the file asks of it, is not supported.
    """
    name = source.metadata.get("general.architecture")
    if not isinstance(name, str):
        raise MobiusError(f"{source.path.name} has no key general.architecture", "it does not hold a language model")
    if name not in ARCHITECTURES:
        near = difflib.get_close_matches(name, ARCHITECTURES, n=1)
        hint = f"supported: {', '.join(sorted(ARCHITECTURES))}" + (f"; nearest: {near[0]}" if near else "")
        raise MobiusError(f"architecture {name!r} is not supported", hint)
    hparams = Hparams(source)
    spec = ARCHITECTURES[name].describe(hparams)
    return spec, hparams.check_all_read()
