"""Apertus."""

from dataclasses import replace

import numpy as np

from tests.support.any_arch import Case
from tests.support.arch_variants import BIASES, FACTORS, LONGROPE, UNREAD, Values, llama_like

# The curve jumps at zero by about eps, so a real one is tiny: a larger one would make a coin toss of inputs near zero.
BY_LAYER = {
    "xielu.alpha_n": [1.5, -0.7], "xielu.alpha_p": [0.3, 2.0], "xielu.beta": [0.5, 0.9], "xielu.eps": [-1e-6, -2e-6],
}  # fmt: skip
FAR_FROM_ZERO = {**BY_LAYER, "xielu.eps": [-0.8, -0.3]}
FOR_ALL = {"xielu.alpha_n": 25.0, "xielu.alpha_p": -1.0, "xielu.beta": 0.5, "xielu.eps": -1e-6}


def with_constant(rng: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """Embeddings whose first channel is always 1."""
    values = rng.normal(0, shape[-1] ** -0.5, shape)
    values[:, 0] = 1.0
    return values


def without_first_row(rng: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """A matrix whose small result leaves the first channel as it is."""
    values = rng.normal(0, 0.2 * shape[-1] ** -0.5, shape)
    values[0] = 0.0
    return values


def of_constant(rng: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """A matrix whose results lie around some constants: below, on both sides of FAR_FROM_ZERO's eps, and above zero."""
    values = rng.normal(0, 0.0015, shape)
    values[:, 0] = rng.choice([-0.12, -0.06, -0.03, 0.05], shape[0])
    return values


VARIANTS = {
    **llama_like("apertus", tied=False, freqs=True),
    "apertus unread keys": Case("apertus", keys=UNREAD, drop=BIASES),
    "apertus long factors": Case("apertus", keys=LONGROPE, context=512, **FACTORS),
    "apertus short factors": Case("apertus", keys=LONGROPE, context=256, **FACTORS),
}
CASES = {
    **{name: replace(case, plain_keys=BY_LAYER) for name, case in VARIANTS.items()},
    "apertus one curve": Case("apertus", drop=BIASES, plain_keys=FOR_ALL),
    "apertus large eps, inputs far from zero": Case(
        "apertus",
        drop=BIASES,
        plain_keys=FAR_FROM_ZERO,
        values={
            "token_embd": with_constant,
            "attn_output|ffn_down": without_first_row,
            "ffn_up": of_constant,
            "ffn_norm": lambda _, shape: np.ones(shape),
        },
    ),
}
