"""Models that prove each architecture: `CASES` of every module here, by what is special about them."""

import importlib
import pkgutil

from tests.support.any_arch import Case


def all_cases() -> dict[str, Case]:
    """Every case of every module, by "architecture: what is special"."""
    found: dict[str, Case] = {}
    for info in pkgutil.iter_modules(__path__):
        cases: dict[str, Case] = importlib.import_module(f"{__name__}.{info.name}").CASES
        for name, case in cases.items():
            label = f"{case.arch}: {name}"
            assert label not in found, label
            found[label] = case
    return found
