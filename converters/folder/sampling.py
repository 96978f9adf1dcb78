"""How a file wants tokens to be drawn: `general.sampling.*`, under Hugging Face's names; and what values there are."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from converters.folder.metadata import SAMPLING

_NAMES = {"temp": "temperature", "top_k": "top_k", "top_p": "top_p", "min_p": "min_p"}
# What is asked for beside them, with the value at which it does nothing; their own parameters are not looked at.
_OTHERS: Mapping[str, Any] = {"penalty_repeat": 1, "xtc_probability": 0, "mirostat": 0, "sequence": ""}
_WANTED = {
    "temperature": "0 or more",
    "top_k": "a whole number, 0 or more",
    "top_p": "more than 0 and at most 1",
    "min_p": "0 or more and at most 1",
}


@dataclass(frozen=True)
class FileSampling:
    """What a file says.

    Attributes:
        values: "temperature", "top_k", "top_p", "min_p", those that are there.
        ignored: a sentence for each wish that is not granted.
    """

    values: Mapping[str, float]
    ignored: tuple[str, ...]

    def as_config(self) -> dict[str, Any]:
        """The keys of `generation_config.json`; none for a file without wishes, which stays greedy."""
        if not self.values:
            return {}
        if self.values.get("temperature") == 0:
            return {"do_sample": False}  # transformers takes no temperature of 0
        return {"do_sample": True, **self.values}


def file_sampling(metadata: Mapping[str, Any]) -> FileSampling:
    """What the metadata of a file, or of a folder, say."""
    values: dict[str, float] = {}
    ignored = []
    for key in (key for key in metadata if key.startswith(SAMPLING)):
        name, value = key.removeprefix(SAMPLING), metadata[key]
        if name in _NAMES:
            wrong = wrong_value(_NAMES[name], value)
            if wrong is None:
                values[_NAMES[name]] = value if name == "top_k" else _shortest(value)
            else:
                ignored.append(f"the file's {key} is {value!r:.40}, which is not followed: it must be {wrong}")
        elif name in _OTHERS and not (isinstance(value, int | float | str) and value == _OTHERS[name]):
            ignored.append(f"the file's {key} is {value!r:.40}, which is not followed")
    return FileSampling(values, tuple(ignored))


def wrong_value(name: str, value: Any) -> str | None:
    """What a value of this name must be, if it is not that."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if name == "top_k":
        fits = number and isinstance(value, int) and value >= 0
    elif name == "top_p":
        fits = number and 0 < value <= 1
    else:
        fits = number and value >= 0 and (value <= 1 or name == "temperature")
    return None if fits else _WANTED[name]


def _shortest(value: float) -> float:
    """A float32 as a person wrote it: 0.7, not 0.699999988079071."""
    import numpy as np

    return float(str(np.float32(value)))
