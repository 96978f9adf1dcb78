"""Numbers of state spaces that contradict each other, and those that layers without heads may have."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from converters.archs.describe import describe
from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.spec import ModelSpec
from converters.target import choose_target
from repack.errors import MobiusError
from tests.support.any_arch import write_arch
from tests.support.arch_cases import all_cases
from tests.support.oracle import require_llama

require_llama()


@pytest.mark.parametrize(
    ("arch", "keys", "message"),
    [
        ("mamba2", {"ssm.time_step_rank": 6}, "6 heads of a state space do not go with 512 channels in 2 groups"),
        ("mamba2", {"ssm.group_count": 3}, "8 heads of a state space do not go with 512 channels in 3 groups"),
        ("mamba2", {"ssm.conv_kernel": 1}, "ssm.conv_kernel is 1, not at least 2"),
        ("mamba2", {"ssm.state_size": 16}, "has shape"),
        ("plamo2", {"ssm.group_count": 1}, "do not go with 512 channels in 1 groups"),
        ("granitehybrid", {"expert_count": 4}, "the file has no key granitehybrid.expert_used_count"),
        (
            "nemotron_h",
            {"expert_count": 4, "expert_used_count": 2, "expert_feed_forward_length": 64},
            "no key nemotron_h.expert_shared_feed_forward_length",
        ),
        ("qwen3next", {"ssm.group_count": 3}, "8 value heads of 256 channels do not go with 3 key heads of 32"),
        ("kimi-linear", {"rope.dimension_count": 96}, "rope.dimension_count is 96, not below the 96 channels of a key"),
        ("kimi-linear", {"expert_gating_func": 4}, "expert_gating_func is 4, not 1, 2 or 3"),
        ("kimi-linear", {"kda.head_dim": 32}, "has shape"),
        ("rwkv7", {"token_shift_count": 1}, "256 channels and 1 shifted tokens do not go together"),
        ("rwkv7", {"attention.iclr_lora_rank": 8}, "has shape"),
        ("jamba", {"ssm.conv_kernel": 1}, "ssm.conv_kernel is 1, not at least 2"),
        ("mamba", {"ssm.time_step_rank": 8}, "has shape"),
        ("lfm2", {"shortconv.l_cache": 1}, "shortconv.l_cache is 1, not at least 2"),
        ("rwkv6", {"token_shift_count": 1}, "256 channels and 1 shifted tokens do not go together"),
        ("rwkv6qwen2", {"attention.head_count_kv": 3}, "3 key heads of 64, 256 channels"),
        ("nemotron_h", {"attention.head_count_kv": [0, 0]}, "one whole number, or one for each layer"),
    ],
)
def test_refusals(tmp_path: Path, arch: str, keys: dict[str, Any], message: str) -> None:
    case = next(case for name, case in all_cases().items() if name in (f"{arch}: usual", f"{arch}: {arch} usual"))
    path = write_arch(tmp_path / "t.gguf", replace(case, untold_keys=keys))
    with GgufFile.open(path) as source, pytest.raises(MobiusError, match=message):
        make_plan(source, choose_target("cpu"))


def test_heads_where_none_attend_count_for_nothing(tmp_path: Path) -> None:
    """PLaMo 2's converter writes zeros for them; llama.cpp does not end on such a file, so it is no judge of it."""
    assert _described(tmp_path, {}) == _described(
        tmp_path,
        {"attention.head_count": [0, 4, 0], "attention.key_length": 64, "attention.value_length": 64},
    )


def _described(folder: Path, keys: dict[str, Any]) -> ModelSpec:
    path = write_arch(folder / "t.gguf", replace(all_cases()["plamo2: usual"], untold_keys=keys))
    with GgufFile.open(path) as source:
        return describe(source)[0]


@pytest.mark.parametrize("arch", ["mamba2", "mamba"])
def test_nothing_is_said_of_heads_that_are_not_there(tmp_path: Path, arch: str) -> None:
    keys = {"attention.head_count": 0, "attention.head_count_kv": 0, "feed_forward_length": 0}
    path = write_arch(tmp_path / "t.gguf", replace(all_cases()[f"{arch}: usual"], untold_keys=keys))
    with GgufFile.open(path) as source:
        assert describe(source)[1] == []
