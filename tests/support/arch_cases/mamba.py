"""Mamba 1 and Falcon Mamba."""

from typing import Any

from tests.support.any_arch import Case
from tests.support.arch_variants import TIED

KEYS = {
    "block_count": 3, "feed_forward_length": 0, "attention.head_count": 0, "attention.head_count_kv": None,
    "ssm.conv_kernel": 4, "ssm.inner_size": 512, "ssm.state_size": 16, "ssm.time_step_rank": 16,
}  # fmt: skip
SPACES: dict[str, Any] = {
    "ssm_a": lambda rng, shape: -rng.uniform(0.05, 2, shape),
    "ssm_conv1d.weight": lambda rng, shape: rng.normal(0, 0.6, shape),
    "ssm_dt.bias": lambda rng, shape: rng.normal(-1, 1, shape),
}
# Next to nothing fades: a state holds the whole text.
KEPT = {**SPACES, "ssm_a": lambda rng, shape: -rng.uniform(0, 0.01, shape)}
ODD = {
    "embedding_length": 96, "ssm.conv_kernel": 3, "ssm.inner_size": 192, "ssm.state_size": 5, "ssm.time_step_rank": 7,
}  # fmt: skip
CASES = {
    "usual": Case("mamba", keys=KEYS, values=SPACES, drop=(TIED,)),
    "norms without weights, head of its own": Case("mamba", keys={**KEYS, "ssm.dt_b_c_rms": True}, values=SPACES),
    "odd sizes": Case("mamba", keys={**KEYS, **ODD}, values=SPACES),
    "kernel of 2, next to nothing fades": Case("mamba", keys={**KEYS, "ssm.conv_kernel": 2}, values=KEPT, length=96),
    "scales": Case(
        "mamba", keys=KEYS, values={**SPACES, r"\.scale": lambda rng, shape: rng.uniform(0.5, 2, shape)},
        keep=r"ssm_(in|out)\.scale$",
    ),
}  # fmt: skip
