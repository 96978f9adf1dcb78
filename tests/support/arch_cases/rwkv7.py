"""RWKV 7, and Qwen 2.5 with its time mixing, which has the gate and the norm or not."""

import numpy as np

from tests.support.any_arch import Case
from tests.support.arch_variants import Values

RANKS = {
    "attention.decay_lora_rank": 32, "attention.iclr_lora_rank": 24, "attention.value_residual_mix_lora_rank": 16,
    "attention.gate_lora_rank": 40,
}  # fmt: skip
KEYS = {
    "block_count": 3, "attention.head_count": 0, "attention.head_count_kv": None, "wkv.head_size": 64, **RANKS,
}  # fmt: skip
ARWKV = {**KEYS, "token_shift_count": 1}
VALUES = {
    "time_mix_k_a": lambda rng, shape: rng.uniform(0.2, 1.0, shape),
    "time_mix_w0": lambda rng, shape: rng.uniform(-6, 1, shape),
    "time_mix_[av]0": lambda rng, shape: rng.uniform(-3, 2, shape),
    "time_mix_lerp": lambda rng, shape: rng.uniform(0, 1, shape),
}


def _alike(rng: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """Keys of all tokens near one another."""
    return (rng.standard_normal(shape) + 3 * rng.standard_normal((shape[0], 1))) / np.sqrt(shape[-1])


# Next to nothing fades, and keys are replaced whole.
KEPT = {"time_mix_w0": lambda rng, shape: np.full(shape, -8.0), "time_mix_a0": lambda rng, shape: np.full(shape, 4.0),
        "time_mix_key": _alike, **VALUES}  # fmt: skip
# Some channels are replaced by shares that float32 cannot tell from 0, of which the operator is given the root.
SHARES = {"time_mix_a0": lambda rng, shape: rng.choice([-200.0, -20.0, 0.0, 30.0], shape), **VALUES}
CASES = {
    "rwkv7 usual": Case("rwkv7", "layer", keys=KEYS, values=VALUES),
    "rwkv7 small heads, other ranks": Case(
        "rwkv7",
        "layer",
        keys={**KEYS, "wkv.head_size": 32, "attention.decay_lora_rank": 8, "attention.iclr_lora_rank": 48},
        values=VALUES,
    ),
    "rwkv7 shares of nothing and of all": Case("rwkv7", "layer", keys={**KEYS, "block_count": 2}, values=SHARES),
    "rwkv7 nothing fades": Case("rwkv7", "layer", keys={**KEYS, "block_count": 2}, values=KEPT, length=100),
    "arwkv7 usual": Case("arwkv7", keys=ARWKV, values=VALUES),
    "arwkv7 no gate, no norm": Case(
        "arwkv7",
        keys={**ARWKV, "attention.gate_lora_rank": None},
        drop=("time_mix_(g[12]|ln)",),
        values={**VALUES, "time_mix_lerp": lambda rng, shape: rng.uniform(0, 1, (5, *shape[1:]))},
    ),
}
