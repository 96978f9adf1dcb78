"""From a file to its ModelSpec."""

import difflib

from converters.archs.hparams import Hparams
from converters.archs.refused import REFUSED
from converters.archs.registry import architectures, find
from converters.sources.source import Source
from converters.spec import ModelSpec
from repack.errors import MobiusError


def describe(source: Source) -> tuple[ModelSpec, list[str]]:
    """The model's numbers, and warnings.

    Raises:
        MobiusError: the architecture, or something that the file asks of it, is not supported.
    """
    name = source.metadata.get("general.architecture")
    if not isinstance(name, str):
        raise MobiusError(f"{source.path.name} has no key general.architecture", "it does not hold a language model")
    architecture = find(name)
    if architecture is None:
        known = architectures()
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"supported: {', '.join(sorted(known))}" + (f"; nearest: {near[0]}" if near else "")
        reason = f": {REFUSED[name]}" if name in REFUSED else ""
        raise MobiusError(f"architecture {name!r} is not supported{reason}", hint)
    hparams = Hparams(source)
    spec = architecture.describe(hparams)
    return spec, hparams.check_all_read()
