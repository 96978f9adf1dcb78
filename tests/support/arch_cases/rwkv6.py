"""RWKV 6, whose mixing shares are one tensor or, in older files, five."""

import numpy as np

from tests.support.any_arch import Case
from tests.support.arch_variants import Values

KEYS = {
    "block_count": 3, "attention.head_count": 0, "attention.head_count_kv": None, "wkv.head_size": 64,
    "time_mix_extra_dim": 32, "time_decay_extra_dim": 64, "rescale_every_n_layers": 2,
}  # fmt: skip


def _alike(rng: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """Queries near keys: what a first token makes of itself is never near 0, where a norm would show its last bits."""
    same = np.random.default_rng(1).standard_normal(shape)
    return (same + 0.7 * rng.standard_normal(shape)) / np.sqrt(shape[-1])


VALUES = {
    "time_mix_(key|receptance)": _alike,
    "time_mix_decay.weight": lambda rng, shape: rng.uniform(-4, 0, shape),
    "time_mix_first": lambda rng, shape: rng.uniform(0.2, 1.5, shape),
}
FIVE = (r"time_mix_lerp_[wkvrg]\.",)
CASES = {
    name: Case("rwkv6", "layer", **{"drop": FIVE, "values": VALUES, "keys": {**KEYS, **keys}, **options})
    for name, keys, options in (
        ("usual", {}, {}),
        ("five tensors of shares, never halved", {"rescale_every_n_layers": None}, {"drop": ("lerp_fused",)}),
        ("small heads, other ranks", {"wkv.head_size": 32, "time_mix_extra_dim": 24, "time_decay_extra_dim": 40}, {}),
    )
}
