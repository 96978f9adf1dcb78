"""How a folder wants tokens to be drawn: generation_config.json, under GGUF's keys."""

from pathlib import Path
from typing import Any

from converters.folder.metadata import SAMPLING
from converters.sources.checkpoint.files import read_json

_NAMES = {
    "temperature": "temp", "top_k": "top_k", "top_p": "top_p", "min_p": "min_p", "repetition_penalty": "penalty_repeat",
}  # fmt: skip


def sampling_metadata(folder: Path) -> dict[str, Any]:
    """`general.sampling.*`; nothing for a folder that does not want tokens to be drawn.

    Raises:
        InputError: generation_config.json is no JSON object.
    """
    found = read_json(folder / "generation_config.json")
    if not found.get("do_sample", False):
        return {}
    return {SAMPLING + gguf: found[name] for name, gguf in _NAMES.items() if found.get(name) is not None}
