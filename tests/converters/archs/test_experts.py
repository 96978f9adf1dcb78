"""Files of mixtures that cannot be: said so, before anything is made."""

from pathlib import Path

import pytest

from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from repack.errors import MobiusError
from tests.support.any_arch import Case, write_arch
from tests.support.oracle import require_llama

require_llama()


def test_matrices_of_their_own(tmp_path: Path) -> None:
    """As files of before April 2024 have experts; llama.cpp does not read them any more."""
    keys, old = {"expert_count": 4, "expert_used_count": 2}, {"blk.0.ffn_down.0.weight": (256, 512)}
    case = Case("llama", keys=keys, drop=[r"_exps\."], untold_tensors=old)
    with (
        GgufFile.open(write_arch(tmp_path / "t.gguf", case)) as source,
        pytest.raises(MobiusError, match=r"matrices of their own \(blk.0.ffn_down.0.weight\)") as found,
    ):
        make_plan(source, choose_target())
    assert found.value.hint == "convert the model again with a llama.cpp of today"
