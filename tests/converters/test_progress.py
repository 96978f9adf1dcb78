"""How far a conversion is: every byte that is hashed or written counts once, and none is left at the end."""

import hashlib
import time
from collections import Counter
from pathlib import Path

import pytest

from converters.folder import source_file
from converters.folder.manifest import read_manifest
from converters.folder.source_file import SourceFile
from converters.pipeline import convert, work_bytes
from converters.plan import make_plan
from converters.sources.open import open_source
from converters.target import choose_target
from repack.errors import MobiusError
from tests.support.split import write_split
from tests.support.tiny import write_tiny


def steps(path: Path, destination: Path, ep: str | None = None, **choices: object) -> tuple[list[tuple[str, int]], int]:
    """What a conversion tells, and how much it said that there is to do."""
    found: list[tuple[str, int]] = []
    with open_source(path) as source:
        plan = make_plan(source, choose_target(ep, **choices))  # type: ignore[arg-type]
        total = work_bytes(plan)
        convert(plan, destination, on_progress=lambda what, size: found.append((what, size)))
    return found, total


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("progress") / "tiny.gguf"
    return write_tiny(path, "llama", types={"attn_v": "Q6_K", ".": "Q4_K"}, tokenizer="bpe")


@pytest.mark.parametrize("ep", ["onnx", "cpu", "cuda"])
def test_all_is_counted_once(tiny: Path, tmp_path: Path, ep: str) -> None:
    found, total = steps(tiny, tmp_path / "d", ep)
    counted = Counter[str]()
    for what, size in found:
        assert size >= 0
        counted[what.split()[0]] += size
    assert counted["hashing"] == tiny.stat().st_size
    data = (tmp_path / "d" / "model.onnx_data").stat().st_size
    graph = (tmp_path / "d" / "model.onnx").stat().st_size
    assert data * 0.98 < counted["writing"] < data + graph  # small ones are in the graph's file; gaps for alignment
    assert counted["hashing"] + counted["writing"] == total


def test_nothing_of_a_weight_counts_before_it_is_written(tiny: Path, tmp_path: Path) -> None:
    found, _ = steps(tiny, tmp_path / "d", "cpu")
    written = [(what, size) for what, size in found if what.startswith("writing")]
    assert written[0][0] != "writing"
    assert written[0][1] < 20_000  # those inside of the graph
    assert written[-1][0] == "writing"
    assert written[-1][1] > 0


def test_a_split_file_is_hashed_in_all_its_parts(tiny: Path, tmp_path: Path) -> None:
    parts = write_split(tiny, tmp_path / "s.gguf", 9)
    found, total = steps(parts[0], tmp_path / "d")
    hashed = sum(size for what, size in found if what.startswith("hashing"))
    assert hashed == sum(part.stat().st_size for part in parts)
    assert sum(size for _, size in found) == total


def test_a_folder_is_not_hashed(tiny: Path, tmp_path: Path) -> None:
    steps(tiny, tmp_path / "d")
    found, total = steps(tmp_path / "d", tmp_path / "e", "cpu")
    assert found[0] == ("making the tokenizer", 0)
    assert all(what.startswith("writing") for what, _ in found[1:])
    assert sum(size for _, size in found) == total


def test_pieces_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(bytes(range(256)) * (1 << 15))  # 8 MiB: two pieces
    pieces: list[int] = []
    record = SourceFile.of(path, pieces.append)
    assert pieces == [1 << 22] * 2
    assert record.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    record.require(path, pieces.append)
    assert sum(pieces) == 2 * path.stat().st_size


def test_a_file_that_is_compared_with_its_folder(tiny: Path, tmp_path: Path) -> None:
    steps(tiny, tmp_path / "d")
    pieces: list[int] = []
    read_manifest(tmp_path / "d").require_source([tiny], pieces.append)
    assert sum(pieces) == tiny.stat().st_size


def test_hashing_ends_when_the_conversion_fails(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else an interrupt would have to wait until a file of 40 GB is read."""
    pieces = 0

    def slow(path: Path, on_bytes: source_file.OnBytes) -> str:
        nonlocal pieces
        for _ in range(1000):
            pieces += 1
            time.sleep(0.01)
            on_bytes(1)
        return ""

    monkeypatch.setattr(source_file, "sha256_of", slow)
    with open_source(tiny) as source:
        plan = make_plan(source, choose_target(None))
        monkeypatch.setattr(source, "tokenizer", lambda: (_ for _ in ()).throw(MobiusError("no tokenizer")))
        with pytest.raises(MobiusError, match="no tokenizer"):
            convert(plan, tmp_path / "d")
    assert pieces < 100
    assert not (tmp_path / "d").exists()
