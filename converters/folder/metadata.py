"""Metadata that a model folder keeps, so that it can be rewritten without the GGUF: JSON and back, types and all."""

from collections.abc import Mapping
from typing import Any

import numpy as np

# The tokenizer has files of its own; the others tell how the file was cut and made.
LEFT_OUT = ("general.", "quantize.", "split.", "tokenizer.")
KEPT = ("general.architecture", "general.author", "general.license", "general.name", "general.license.name",
        "general.license.link")  # fmt: skip
SAMPLING = "general.sampling."
KEPT_GROUPS = ("general.base_model.", SAMPLING)


def kept_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What describes the model, in the order of the file."""
    return {key: metadata[key] for key in metadata if _is_kept(key)}


def _is_kept(key: str) -> bool:
    return key in KEPT or key.startswith(KEPT_GROUPS) or not key.startswith(LEFT_OUT)


def plain_metadata(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Kept metadata for JSON."""
    return {key: _plain(value) for key, value in kept.items()}


def restored_metadata(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The values of `plain_metadata` as the file's metadata give them. Raises KeyError or TypeError if damaged."""
    return {key: _typed(value) for key, value in plain.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"dtype": value.dtype.name, "values": value.tolist()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _typed(value: Any) -> Any:
    if isinstance(value, dict):
        array = np.array(value["values"], np.dtype(value["dtype"]))
        array.flags.writeable = False
        return array
    return [_typed(item) for item in value] if isinstance(value, list) else value
