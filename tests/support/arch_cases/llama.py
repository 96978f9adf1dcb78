"""Llama: what tests/converters/archs/test_archs.py does not have."""

import numpy as np

from tests.support.any_arch import Case


def factors(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Divisors of rotary frequencies, far from 1."""
    return rng.uniform(1, 8, shape)


LONGROPE = {
    "rope.scaling.type": "longrope", "rope.scaling.original_context_length": 256, "rope.scaling.attn_factor": 1.2,
    "context_length": 1024,
}  # fmt: skip
CASES = {
    "all biases": Case("llama"),
    "fused q, k, v": Case("llama", fused=True),
    "heads of 60": Case("llama", keys={"attention.key_length": 60, "attention.value_length": 60}),
    "heads of 72": Case("llama", keys={"attention.key_length": 72, "attention.value_length": 72}),
    "heads of 100, factors": Case(
        "llama",
        keys={"attention.key_length": 100, "attention.value_length": 100},
        keep="rope_freqs",
        values={"rope_freqs": factors},
    ),
    "long factors": Case("llama", keys=LONGROPE, keep="rope_factors", values={"rope_factors": factors}, context=512),
    "short factors": Case("llama", keys=LONGROPE, keep="rope_factors", values={"rope_factors": factors}, context=256),
}
