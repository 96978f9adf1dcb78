"""Models that know positions by ALiBi (arXiv 2108.12409) instead of rotary embeddings."""

from typing import Any

from converters.archs.common import decoder, gated, head_dim, layer_norm, plain, rms_norm, stack
from converters.archs.gpt2 import unturned
from converters.archs.hparams import Hparams
from converters.archs.registry import architecture
from converters.spec import Attention, FeedForward, ModelSpec

FIXED_BIAS = 8.0  # of the architectures for which llama.cpp does not ask the file
UNUSED_BIASES = ("blk.*.attn_output.bias", "blk.*.ffn_*.bias")
UNUSED_FACTORS = ("rope_freqs.weight", "rope_factors_*.weight")


@architecture("bloom", "BLOOM, BLOOMZ")
def bloom(h: Hparams) -> ModelSpec:
    """As GPT-2, with ALiBi for learned positions and a norm of the embeddings."""
    mixer = _biased(h, FIXED_BIAS)
    return decoder(h, stack(h, mixer, plain(h, "gelu_tanh")), layer_norm(h), embedding_norm=True)


@architecture("mpt", "MPT, Replit Code")
def mpt(h: Hparams) -> ModelSpec:
    """Layer norms, GELU; clamped q, k and v, biases, learned positions and AWQ's divisors where the file has them.

    Norms of q and k are refused: llama.cpp ends the process on them.
    """
    mixer = _biased(h, clip=max(0.0, h.number("attention.clamp_kqv", 0.0)))

    def feed_forward(i: int) -> FeedForward:
        return plain(h, "gelu_tanh", divisors=h.has_tensor(f"blk.{i}.ffn.act.scales"))

    return decoder(
        h,
        stack(h, mixer, feed_forward),
        layer_norm(h),
        learned_positions=h.has_tensor("position_embd.weight"),
        ignored=("blk.*.attn_k_norm.*",),  # alone it is loaded only
    )


@architecture("jais", "Jais")
def jais(h: Hparams) -> ModelSpec:
    """Layer norms, SiLU-gated, scale 1 / head_dim (muP, arXiv 2203.03466). Never tied."""
    mixer = _biased(h, scale=1 / head_dim(h))
    return decoder(h, stack(h, mixer, gated(h)), layer_norm(h), tied=False)


@architecture("refact", "Refact 1.6B")
def refact(h: Hparams) -> ModelSpec:
    """As Llama with ALiBi; biases behind attention and of the feed-forward are not used."""
    mixer = _biased(h, FIXED_BIAS)
    return decoder(h, stack(h, mixer, gated(h)), rms_norm(h), ignored=UNUSED_BIASES + UNUSED_FACTORS)


def _biased(h: Hparams, fixed: float | None = None, **choices: Any) -> Attention:
    """Attention with ALiBi of a fixed exponent, or the file's; none where that is 0 or missing."""
    h.ignore("attention.max_alibi_bias")
    bias = max(0.0, h.number("attention.max_alibi_bias", 0.0)) if fixed is None else fixed
    return unturned(h, max_alibi_bias=bias, **choices)
