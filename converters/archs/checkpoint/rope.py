"""Rotary embeddings of a config.json under GGUF's keys, as versions 4 and 5 of transformers name them."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.archs.checkpoint.config import Config
from repack.errors import MobiusError

FREQS = "rope_freqs.weight"  # divisors of the frequencies: a tensor that GGUF files have and folders say in numbers


def rope_keys(config: Config, dim: int) -> dict[str, Any]:
    """Of heads of which `dim` channels turn; the divisors stand under FREQS.

    Raises:
        MobiusError: the two spellings differ, or the kind of scaling is not supported.
    """
    theta, kind, given = _given(config)
    keys: dict[str, Any] = {"rope.freq_base": theta}
    if kind == "linear":
        factor = Config({"factor": given.pop("factor", None)}).number("factor")
        keys |= {"rope.scaling.type": "linear", "rope.scaling.factor": factor}
    elif kind == "yarn":
        keys |= _yarn(config, given)
    elif kind == "llama3":
        keys[FREQS] = _llama3(given, theta, dim)
    if kind not in ("default", "linear", "yarn", "llama3") or given:
        raise config.wrong("rope_scaling", {"rope_type": kind, **given}, "none, linear, yarn, llama3")
    return keys


def _given(config: Config) -> tuple[float, str, dict[str, Any]]:
    """The base, the kind of scaling, and its numbers."""
    theta = config.get("rope_theta")
    new, old = config.get("rope_parameters"), config.get("rope_scaling")
    if isinstance(new, dict) and "full_attention" in new:  # of each kind of layer; these are the global ones
        new = new["full_attention"]
    given = dict(new if new is not None else old or {})
    if new is not None and old is not None and new != old:
        raise MobiusError("config.json: rope_parameters and rope_scaling differ", "remove the one that is wrong")
    inner = given.pop("rope_theta", theta)
    if theta is not None and inner != theta:
        raise MobiusError("config.json: rope_theta and rope_parameters differ", "remove the one that is wrong")
    kind = given.pop("rope_type", given.get("type", "default"))
    given.pop("type", None)
    base = Config({"rope_theta": inner}).number("rope_theta", 10000.0)
    if given.get("factor") is None:
        given.pop("factor", None)
    return base, str(kind), given


def _yarn(config: Config, given: dict[str, Any]) -> dict[str, Any]:
    """With the defaults of the method, which are llama.cpp's."""
    numbers = Config({key: given.pop(key, None) for key in ("factor", "original_max_position_embeddings")})
    for key, usual in (("beta_fast", 32), ("beta_slow", 1)):
        if given.get(key) == usual:
            del given[key]
    context = config.integer("max_position_embeddings")
    return {
        "rope.scaling.type": "yarn", "rope.scaling.factor": numbers.number("factor"),
        "rope.scaling.original_context_length": numbers.integer("original_max_position_embeddings", context),
    }  # fmt: skip


def _llama3(given: dict[str, Any], theta: float, dim: int) -> npt.NDArray[np.float32]:
    """Slow turns are stretched by `factor`, fast ones not, those between in part: float32 [dim / 2]."""
    names = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
    numbers = Config({name: given.pop(name, None) for name in names})
    factor, low, high, context = (numbers.number(name) for name in names)
    if high <= low:
        raise MobiusError(f"config.json: high_freq_factor is {high:g}, not above low_freq_factor", "it is damaged")
    turns = context / (2 * math.pi * theta ** (np.arange(0, dim, 2) / dim))  # of each pair in the original context
    share = np.clip((turns - low) / (high - low), 0, 1)  # of the pair that stays as it is
    return (1 / ((1 - share) / factor + share)).astype(np.float32)
