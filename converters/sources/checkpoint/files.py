"""The files of a checkpoint folder: its JSON files, and all tensors of its safetensors files by name."""

import json
from pathlib import Path
from typing import Any

from converters.sources.checkpoint.safetensors import Entry, read_safetensors
from repack.errors import InputError

CONFIG, SINGLE, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"


def is_checkpoint(folder: Path) -> bool:
    """Whether a folder is one of Hugging Face's with safetensors."""
    return (folder / CONFIG).is_file() and any(folder.glob("*.safetensors"))


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object; empty where there is no such file.

    Raises:
        InputError: it is no JSON object.
    """
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}", "download it again") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: is not a JSON object", "download it again")
    return found


def tensor_files(folder: Path) -> list[Path]:
    """The safetensors files that the model consists of: a single one, or those of its index.

    Raises:
        InputError: there is neither, or the index names files elsewhere, or files that are missing.
    """
    if (folder / SINGLE).exists():
        return [folder / SINGLE]
    named = read_json(folder / INDEX).get("weight_map")
    if not isinstance(named, dict) or not named:
        raise InputError(f"{folder} has neither {SINGLE} nor an index of it", "download the whole model")
    names = sorted({str(name) for name in named.values()})
    wrong = [name for name in names if Path(name).name != name or not (folder / name).is_file()]
    if wrong:
        raise InputError(f"{folder} lacks {wrong[0]}, which {INDEX} names", "download the whole model")
    return [folder / name for name in names]


def read_tensors(folder: Path, files: list[Path]) -> dict[str, Entry]:
    """All tensors by name, in the order of the files.

    Raises:
        InputError: a tensor is there twice, or not in the file that the index names.
    """
    index = {} if files[0].name == SINGLE else read_json(folder / INDEX)["weight_map"]
    found: dict[str, Entry] = {}
    for path in files:
        for name, entry in read_safetensors(path).items():
            if name in found or index.get(name, path.name) != path.name:
                raise InputError(f"{path}: {name} is there twice, or elsewhere by {INDEX}", "download the model again")
            found[name] = entry
    if missing := index.keys() - found.keys():
        raise InputError(f"{folder} lacks {sorted(missing)[0]}, which {INDEX} names", "download the model again")
    return found
