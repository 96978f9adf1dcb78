"""GPT-2 and its kin; keys and patterns that cases of other modules share."""

from collections.abc import Callable

import numpy as np

from tests.support.any_arch import Case

Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

TIED = r"^output\.weight"
NO_BIASES = r"attn_(q|k|v|qkv)\.bias"
LINEAR = {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0, "rope.freq_base": 500.0}
YARN = {
    "rope.scaling.type": "yarn", "rope.scaling.factor": 8.0, "rope.scaling.original_context_length": 64,
    "rope.scaling.attn_factor": 0.8, "rope.freq_base": 2000.0,
}  # fmt: skip
WINDOW = {"attention.sliding_window": 7, "attention.sliding_window_pattern": 2}  # for those that do not read it
EACH = {"attention.head_count_kv": 4}
ONE = {"attention.head_count_kv": 1}
SIX = {"embedding_length": 192, "attention.head_count": 6, "attention.head_count_kv": 2}


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
    "one key head": Case("starcoder", "layer", ONE, gelu=True),
    "one key head, tied": Case("starcoder", "layer", ONE, drop=[TIED], gelu=True),
    "key head per query, rotary and window keys": Case("starcoder", "layer", {**EACH, **LINEAR, **WINDOW}, gelu=True),
    "biases, tied": Case("starcoder2", "layer", drop=[TIED], gelu=True),
    "untied without q, k, v biases": Case("starcoder2", "layer", drop=[NO_BIASES], gelu=True),
    "fused": Case("starcoder2", "layer", fused=True, gelu=True),
    "linear": Case("starcoder2", "layer", LINEAR, gelu=True),
    "yarn, unread window": Case("starcoder2", "layer", {**YARN, **WINDOW, **SIX}, gelu=True),
    "two matrices": Case("codeshell", "layer", gelu=True),
    "head is the embedding": Case("codeshell", "layer", drop=["^token_embd"], gelu=True),
    "fused without biases": Case("codeshell", "layer", {**EACH, **WINDOW}, drop=[NO_BIASES], fused=True, gelu=True),
    "linear, one key head": Case("codeshell", "layer", {**LINEAR, **ONE}, gelu=True),
    "yarn": Case("codeshell", "layer", YARN, gelu=True),
}
