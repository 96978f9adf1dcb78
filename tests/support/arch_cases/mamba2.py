"""Mamba 2, and what the cases of all families with its state spaces have in common."""

from tests.support.any_arch import Case
from tests.support.arch_variants import TIED

SPACES = {
    "ssm.conv_kernel": 4, "ssm.inner_size": 512, "ssm.state_size": 32, "ssm.time_step_rank": 8, "ssm.group_count": 2,
}  # fmt: skip
FADING = {
    r"ssm_a$": lambda rng, shape: -rng.uniform(0.05, 2, shape),
    "conv1d.weight": lambda rng, shape: rng.normal(0, 0.6, shape),
}
# Next to nothing fades, and little is taken of each token.
KEPT = {**FADING, r"ssm_a$": lambda rng, shape: -rng.uniform(1e-4, 1e-3, shape)}
# Each token makes the state forget the one before: exponents of sums go down to thousands.
LOST = {**FADING, r"ssm_a$": lambda rng, shape: -rng.uniform(20, 60, shape)}
SCALES = {**FADING, r"\.scale": lambda rng, shape: rng.uniform(0.5, 2, shape)}
KEYS = {**SPACES, "attention.head_count": None, "attention.head_count_kv": None, "feed_forward_length": None}
ZEROS = {"attention.head_count": 0, "attention.head_count_kv": 0, "feed_forward_length": 0}
ONE = {"ssm.group_count": 1, "ssm.state_size": 128, "ssm.time_step_rank": 16}
MANY = {"ssm.group_count": 8, "ssm.state_size": 16}
ODD = {
    "embedding_length": 72, "ssm.inner_size": 144, "ssm.state_size": 24, "ssm.time_step_rank": 6, "ssm.group_count": 3,
    "ssm.conv_kernel": 3,
}  # fmt: skip
CASES = {
    "usual": Case("mamba2", keys=KEYS, values=FADING),
    "one group, large states, tied, keys of zero": Case(
        "mamba2", keys={**KEYS, **ONE, **ZEROS}, values=FADING, drop=(TIED,)
    ),
    "as many groups as heads, one layer": Case("mamba2", keys={**KEYS, **MANY, "block_count": 1}, values=FADING),
    "odd sizes": Case("mamba2", keys={**KEYS, **ODD}, values=FADING),
    "convolution of two": Case("mamba2", keys={**KEYS, "ssm.conv_kernel": 2}, values=FADING),
    "scales": Case("mamba2", keys=KEYS, values=SCALES, keep=r"\.scale$"),
    "nothing fades": Case("mamba2", keys=KEYS, values=KEPT, length=160),
    "all fades": Case("mamba2", keys=KEYS, values=LOST, length=160),
}
