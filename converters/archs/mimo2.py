"""MiMo V2: local layers with attention sinks, keys that are wider than values, experts by biased scores."""

from dataclasses import replace

from converters.archs.common import attention, decoder, flagged_layers, gated_mlp, head_dim, layer_count, rms_norm
from converters.archs.experts import EXPERT_SCALES, IMPLIED, experts
from converters.archs.hparams import Hparams
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import SIGMOID, Attention, Block, Layer, ModelSpec, Module

# llama.cpp loads these, and its graph has the bare products.
UNUSED = tuple(f"blk.*.attn_{part}.{extra}" for part in ("q", "k", "v", "qkv") for extra in ("bias", "scale"))
LOCAL_THETA = 10000.0  # rotary base of local layers, unless the file says otherwise


@architecture("mimo2", "MiMo V2 Flash")
def mimo2(h: Hparams) -> ModelSpec:
    """Which layers have sinks, and which have experts, their tensors say; a token's weights add up to one."""
    h.ignore(*IMPLIED)
    window, local, distant = (
        h.positive("attention.sliding_window"),
        flagged_layers(h),
        rope(h, head_dim(h), partial=True),
    )
    # Positions of local layers are never stretched.
    near = replace(distant, theta=h.number("rope.freq_base_swa", LOCAL_THETA), scaling=None)
    scale = h.number("attention.value_scale", 0.0) or 1.0
    h.raw("feed_forward_length")  # of dense layers, and there may be none

    def mixer(i: int) -> Attention:
        rotary, span = (near, window) if local[i] else (distant, None)
        return attention(h, rotary, i, window=span, sinks=h.has_tensor(f"blk.{i}.attn_sinks.weight"))

    def mlp(i: int) -> Module:
        if not h.has_tensor(f"blk.{i}.ffn_gate_inp.weight"):
            return gated_mlp(h, layer=i)
        return experts(h, h.positive("expert_feed_forward_length"), layer=i, scores=SIGMOID, normalize=True)

    layers = tuple(
        Layer(i, (Block(mixer(i), "attn_norm", scale=scale), Block(mlp(i), "ffn_norm"))) for i in range(layer_count(h))
    )
    return decoder(h, layers, rms_norm(h), tied=False, ignored=EXPERT_SCALES + UNUSED)
