"""What a file says about drawing tokens, in the folder's metadata and in generation_config.json."""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from converters.folder.manifest import read_manifest
from converters.folder.sampling import file_sampling, wrong_value
from tests.support.cli import contents, mobius
from tests.support.tiny import write_tiny

KEYS = {
    "general.sampling.temp": 0.7,
    "general.sampling.top_k": (20, gguf.GGUFValueType.INT32),
    "general.sampling.top_p": 0.8,
    "general.sampling.min_p": 0.05,
    "general.sampling.penalty_repeat": 1.05,
    "general.tags": ["x"],
}


def converted(path: Path, keys: dict[str, Any]) -> Path:
    write_tiny(path, "llama", types="Q8_0", tokenizer="bpe", extra_metadata=keys)
    assert mobius("convert", path, "-o", path.with_suffix("")).exit_code == 0
    return path.with_suffix("")


def config(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "generation_config.json").read_text())
    return {key: value for key, value in found.items() if not key.endswith("token_id")}


def test_a_file_with_wishes(tmp_path: Path) -> None:
    folder = converted(tmp_path / "a.gguf", KEYS)
    assert config(folder) == {"do_sample": True, "temperature": 0.7, "top_k": 20, "top_p": 0.8, "min_p": 0.05}
    kept = read_manifest(folder).metadata
    assert kept["general.sampling.top_p"] == np.float32(0.8)
    assert kept["general.sampling.penalty_repeat"] == np.float32(1.05)
    assert "general.tags" not in kept


def test_a_rewritten_folder_keeps_them(tmp_path: Path) -> None:
    folder = converted(tmp_path / "a.gguf", KEYS)
    assert mobius("convert", folder, "-o", tmp_path / "again").exit_code == 0
    assert contents(folder) == contents(tmp_path / "again")


def test_a_file_without(tmp_path: Path) -> None:
    assert config(converted(tmp_path / "a.gguf", {})) == {"do_sample": False}


def test_a_temperature_of_0(tmp_path: Path) -> None:
    keys = {"general.sampling.temp": 0.0, "general.sampling.top_k": 5}
    assert config(converted(tmp_path / "a.gguf", keys)) == {"do_sample": False}


def test_what_is_not_followed_is_said() -> None:
    metadata = {
        "general.sampling.top_p": 1.5,
        "general.sampling.temp": "warm",
        "general.sampling.penalty_repeat": 1.05,
        "general.sampling.penalty_last_n": 64,
        "general.sampling.mirostat": 0,
        "general.sampling.sequence": np.array([1, 2]),
        "general.name": "x",
    }
    found = file_sampling(metadata)
    assert found.values == {}
    assert [text.split(" is ")[0] for text in found.ignored] == [
        f"the file's general.sampling.{key}" for key in ("top_p", "temp", "penalty_repeat", "sequence")
    ]
    assert "must be more than 0 and at most 1" in found.ignored[0]


@pytest.mark.parametrize(
    ("name", "fits", "wrong"),
    [
        ("temperature", [0, 0.7, 3.5], [-0.1, float("nan"), float("inf"), True, "1"]),
        ("top_k", [0, 40], [-1, 2.5, 40.0, True]),
        ("top_p", [0.01, 1, 1.0], [0, 0.0, 1.01, -1, float("nan")]),
        ("min_p", [0, 0.05, 1], [-0.01, 1.01, float("nan")]),
    ],
)
def test_ranges(name: str, fits: list[Any], wrong: list[Any]) -> None:
    assert [wrong_value(name, value) for value in fits] == [None] * len(fits)
    assert None not in [wrong_value(name, value) for value in wrong]
