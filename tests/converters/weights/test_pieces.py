"""Weights that are written in pieces: the bytes of the whole, with the memory of a piece."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from converters.graph.graph import Graph, InPieces
from converters.graph.onnx_file import write_graph
from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from tests.mobius_cli.commands.test_rewrite import TARGETS, converted
from tests.support.any_arch import write_arch
from tests.support.arch_cases import all_cases
from tests.support.tiny import write_tiny

MIXED = {"attn_v": "Q6_K", "ffn_down": "Q5_0", "ffn_up": "Q4_0", "token_embd": "Q4_0", "norm": "F32", ".": "Q4_K"}
WAYS = (("onnx", "cpu"), ("cpu", "onnx"), ("onnx", "onnx"))


def cut(monkeypatch: pytest.MonkeyPatch, nbytes: int) -> None:
    """Pieces of so many bytes, or as few as there can be."""
    monkeypatch.setattr("converters.graph.graph.PIECE_BYTES", nbytes)
    monkeypatch.setattr("converters.weights.pieces.PIECE_BYTES", nbytes)


def test_pieces_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut at multiples of the step; the last one may be smaller."""
    cut(monkeypatch, 100)
    numbers = np.arange(70, dtype=np.float32).reshape(14, 5)
    value = Graph("test").initializer("a", "float32", (14, 5), InPieces(14, lambda i, j: numbers[i:j], step=4))
    found = list(value.pieces())
    assert [len(piece) for piece in found] == [4, 4, 4, 2]
    np.testing.assert_array_equal(np.concatenate(found), numbers)


@pytest.mark.parametrize("vocab", [320, 321])
def test_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vocab: int) -> None:
    """Of files and of folders, whose 4-bit codes may begin within a byte."""
    path = write_tiny(tmp_path / "t.gguf", "llama", types=MIXED, tied=True, n_vocab=vocab, n_layer=1, tokenizer="bpe")
    wanted = {name: converted(path, tmp_path / name, *TARGETS[name]) for name in ("onnx", "cpu")}
    cut(monkeypatch, 3000)
    for source, name in ((path, "onnx"), (path, "cpu"), *((tmp_path / old, new) for old, new in WAYS)):
        assert converted(source, tmp_path / f"{name} of {source.name}", *TARGETS[name]) == wanted[name]


def test_experts_beside_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_arch(tmp_path / "t.gguf", all_cases()["qwen3moe: usual"], "Q4_K")
    data = []
    for nbytes in (1 << 20, 3000):
        cut(monkeypatch, nbytes)
        (folder := tmp_path / str(nbytes)).mkdir()
        with GgufFile.open(path) as source:
            write_graph(make_plan(source, choose_target("cuda")).graph, folder, {}, ("test", "0"))
        data.append((folder / "model.onnx_data").read_bytes())
    assert data[0] == data[1]


@pytest.mark.parametrize("ep", ["onnx", "cpu"])
@pytest.mark.parametrize(("kind", "row"), [("Q4_0", 144), ("Q6_K", 210)])
def test_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ep: str, kind: str, row: int) -> None:
    """Of an embedding that is the head as well a small part stands in memory at once."""
    cut(monkeypatch, 1 << 17)
    table = {"token_embd.weight": (np.zeros((40_000, row), np.uint8), kind)}
    path = write_tiny(tmp_path / "t.gguf", "llama", n_vocab=40_000, n_layer=1, tied=True, extra_tensors=table)
    with GgufFile.open(path) as source:
        graph = make_plan(source, choose_target(ep)).graph
        tracemalloc.start()
        try:
            write_graph(graph, tmp_path, {}, ("test", "0"))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 1.2 * 40_000 * 256  # bytes: at once it would be 2.5 for each weight, or 4.2
