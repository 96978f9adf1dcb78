"""GPT-2."""

from collections.abc import Callable

import numpy as np

from tests.support.any_arch import Case
from tests.support.arch_variants import EACH, SIX, TIED, WINDOW, YARN, Values


def normal(mean: float, deviation: float) -> Callable[[np.random.Generator, tuple[int, ...]], Values]:
    """A maker of normally distributed values."""
    return lambda rng, shape: rng.normal(mean, deviation, shape)


def rows_of_one_sign(rng: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """What all inputs have in common adds up in every row, and no norm of the result removes it."""
    return rng.choice([-1.0, 1.0], (shape[0], 1)) * rng.uniform(0.02, 0.12, shape)


# Inputs near -2.2, where tanh's GELU differs from erf's by up to 1.5 % while float16 is fine.
GELU = {
    "ffn_up.bias": normal(-2.2, 0.3), "ffn_up.weight": normal(0, 0.02), "ffn_down.weight": rows_of_one_sign,
    "^output.weight": normal(0, 0.3),
}  # fmt: skip

CASES = {
    "usual": Case("gpt2", "layer", EACH, gelu=True),
    "tied": Case("gpt2", "layer", EACH, drop=[TIED], gelu=True),
    "grouped, rotary and window keys": Case("gpt2", "layer", {**YARN, **WINDOW, "rope.dimension_count": 32}, gelu=True),
    "three heads to one": Case("gpt2", "layer", SIX, gelu=True),
    "GELU by tanh": Case("gpt2", "layer", EACH, values=GELU, gelu=True),
}
