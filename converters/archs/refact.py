"""Refact: as Llama, with ALiBi."""

from converters.archs.common import decoder, gated_mlp, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.nope import alibi
from converters.archs.registry import architecture
from converters.spec import ModelSpec

ALIBI_BIAS = 8.0  # llama.cpp does not ask the file
# Loaded and not used.
UNUSED = (
    "blk.*.attn_output.bias", *(f"blk.*.ffn_{part}.bias" for part in ("gate", "up", "down")),
    "rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight",
)  # fmt: skip


@architecture("refact", "Refact 1.6B")
def refact(h: Hparams) -> ModelSpec:
    """SiLU-gated, RMS norms; biases behind attention and of the feed-forward are not used."""
    return decoder(h, stack(h, alibi(h, ALIBI_BIAS), gated_mlp(h)), rms_norm(h), ignored=UNUSED)
