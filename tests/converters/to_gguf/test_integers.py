"""Integer checkpoints as GGUF files, and their folders beside them: each weight, and each part of a matrix."""

from pathlib import Path

import numpy as np
import pytest

from converters.to_gguf.write import Written, write_gguf
from repack.errors import MobiusError
from tests.converters.sources.checkpoint.test_integers import model, opened
from tests.converters.to_gguf.test_write import nothing, weights_in
from tests.support import checkpoint as tiny
from tests.support.cli import mobius
from tests.support.int4 import FORMS
from tests.support.planted import PlantedFolder

# Whether a type of GGUF has their codes, and float16 their scales and minimums.
EXACT = {
    "ct asymmetric": False, "ct symmetric matrix": True, "ct ordered": False, "ct 8 bit": False, "ct 3 bit": True,
    "ct 2 bit": True, "awq": False, "awq gemv": False, "gptq": True, "gptq zeros": False, "gptq ordered": False,
    "gptq 8 bit": False, "mlx 4 bit": True, "mlx 8 bit": False,
}  # fmt: skip
PARTS = ("codes", "scale", "zero_points", "offset")


def written(folder: Path, name: str, path: Path) -> tuple[Written, bool]:
    """The file, and whether it is written without a type that rounds, or only gets larger."""
    source, _ = opened(folder, FORMS[name])
    try:
        return write_gguf(source, path, None, nothing), True
    except MobiusError as error:
        assert "no exact type in GGUF" in error.message and not path.exists()
    return write_gguf(source, path, "f32", nothing), False


@pytest.mark.parametrize("name", EXACT)
def test_every_weight(tmp_path: Path, name: str) -> None:
    done, exact = written(tmp_path / "model", name, tmp_path / "ours.gguf")
    assert not done.rounded and exact is EXACT[name]
    _, _, _, weights = model("llama", FORMS[name])
    found = weights_in(tmp_path / "ours.gguf")
    wanted = weights_in(tiny.write_gguf(tmp_path / "theirs.gguf", "llama", weights))
    assert found.keys() == wanted.keys()
    assert not [key for key in found if not np.array_equal(found[key].view(np.float32), wanted[key].view(np.float32))]


@pytest.mark.parametrize(
    ("name", "options"),
    [("ct asymmetric", ("--ep", "cpu")), ("gptq ordered", ("--ep", "cpu")), ("awq", ()), ("mlx 4 bit", ())],
)
def test_a_bit_of_each_part(tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    """Of codes, scales, zero points, offsets and orders in a folder, each alone."""
    opened(tmp_path / "model", FORMS[name])
    assert mobius("convert", tmp_path / "model", "-o", tmp_path / "onnx", *options).exit_code == 0
    asked = ("verify", tmp_path / "onnx", tmp_path / "model", "--weights-only")
    assert mobius(*asked).exit_code == 0
    stored = {one.name for one in PlantedFolder(tmp_path / "onnx", tmp_path / "look").model.graph.initializer}
    parts = [part for part in PARTS if any(one.endswith(f".{part}") for one in stored)]
    assert {"codes", "scale"} < set(parts)
    for part in parts:
        wrong = PlantedFolder(tmp_path / "onnx", tmp_path / part)
        place = next(one for one in sorted(stored) if one.endswith(f".{part}"))
        raw = wrong.raw(place)
        raw[raw.size // 2] ^= 1
        done = mobius(*asked[:1], wrong.save(), *asked[2:])
        assert done.exit_code == 1 and place.rsplit(".", 1)[0].split(".")[0] in done.stdout, (part, done.stdout)
