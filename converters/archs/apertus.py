"""Apertus: xIELU without a gate, whose parameters are metadata."""

import math

import numpy as np

from converters.archs.common import attention, decoder, head_dim, layer_count, mlp, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import HeadNorm, Mlp, ModelSpec, Xielu
from repack.errors import MobiusError

# Unless it is told so, the class stretches positions.
HF = HuggingFace("apertus", "ApertusForCausalLM", scalings=("default", "linear", "yarn", "longrope"))


@architecture("apertus", "Apertus", HF)
def apertus(h: Hparams) -> ModelSpec:
    """An RMS norm on each head of q and k, split-half rotary pairs with frequency factors."""
    mixer = attention(h, rope(h, head_dim(h), freqs=True, long_factors=True), qk_norm=HeadNorm())
    alpha_n, alpha_p, beta, eps = (_numbers(h, f"xielu.{name}") for name in ("alpha_n", "alpha_p", "beta", "eps"))

    def feed_forward(i: int) -> Mlp:
        curve = Xielu(_softplus(alpha_p[i]), beta[i] + _softplus(alpha_n[i]), beta[i], eps[i])
        return mlp(h, curve, layer=i)

    ignored = ("blk.*.attn_q_norm.bias", "blk.*.attn_k_norm.bias")
    return decoder(h, stack(h, mixer, feed_forward), rms_norm(h), tied=False, ignored=ignored)


def _numbers(h: Hparams, key: str) -> list[float]:
    """One number per layer; the key has no prefix, and may hold one number for all."""
    value, count = h.source.metadata.get(key), layer_count(h)
    found = np.atleast_1d(np.asarray(value))
    if found.dtype.kind != "f" or len(found) not in (1, count) or not np.isfinite(found).all():
        raise MobiusError(f"{key} is {str(value)[:60]}, not a number or one for each of {count} layers",
                          "the file is incomplete or damaged")  # fmt: skip
    return [float(number) for number in np.resize(found, count)]


def _softplus(x: float) -> float:
    """ln(1 + e^x)."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))
