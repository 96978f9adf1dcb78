"""Step 3.5: a gate for each head, local layers with more heads, bounded activations."""

from dataclasses import replace

import numpy as np

from converters.archs.common import attention, decoder, flagged_layers, gated_mlp, head_dim, rms_norm
from converters.archs.experts import EXPERT_SCALES, SHARED_SCALES, experts, scores, shared_expert
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import SIGMOID, Attention, HeadNorm, LimitedSwiglu, ModelSpec, Module
from repack.errors import MobiusError

LOCAL_THETA = 10000.0  # rotary base of local layers, unless the file says otherwise
LEAST_LIMIT = 1e-6  # of an activation; below it, none


@architecture("step35", "Step 3.5 Flash")
def step35(h: Hparams) -> ModelSpec:
    """Half of the rotary dimensions turn in global layers; which layers have experts, their tensors say."""
    window, local, whole = h.positive("attention.sliding_window"), flagged_layers(h), rope(h, head_dim(h), partial=True)
    # Positions of local layers are never stretched.
    near = replace(whole, theta=h.number("rope.freq_base_swa", LOCAL_THETA), scaling=None, factors=None)
    # The tensor has factors for as many pairs as turn in local layers, of which llama.cpp wants at least one.
    distant = rope(h, head_dim(h), partial=True, freqs=True)
    distant = replace(distant, dim=whole.dim // 2, factor_pairs=whole.dim // 2)
    if distant.dim % 2:
        raise MobiusError(f"step35.rope.dimension_count is {whole.dim}", "half of it is odd; the metadata is damaged")

    def mixer(i: int) -> Attention:
        rotary, span = (near, window) if local[i] else (distant, None)
        normed = h.has_tensor(f"blk.{i}.attn_q_norm.weight")
        gate = "head" if h.has_tensor(f"blk.{i}.attn_gate.weight") else ""
        return attention(h, rotary, i, window=span, qk_norm=HeadNorm() if normed else None, gate=gate)

    return decoder(
        h,
        stack(h, mixer, lambda i: _feed_forward(h, i)),
        rms_norm(h),
        tied=False,
        ignored=(*EXPERT_SCALES, *SHARED_SCALES, "blk.*.attn_gate.scale"),
    )


def _feed_forward(h: Hparams, layer: int) -> Module:
    """Experts and a shared one, or a dense one, bounded as the shared one is."""
    outer, inner = _activation(h, "swiglu_clamp_shexp", layer), _activation(h, "swiglu_clamp_exp", layer)
    width, wide = h.positive("expert_feed_forward_length"), h.positive("expert_shared_feed_forward_length")
    mixture = experts(
        h,
        width,
        inner,
        layer=layer,
        scores=scores(h, SIGMOID),
        normalize=h.flag("expert_weights_norm", False),
        scale=h.number("expert_weights_scale", 0.0),
        shared=shared_expert(wide, outer),
    )
    h.raw("feed_forward_length")  # of dense layers, and there may be none
    if h.has_tensor(f"blk.{layer}.ffn_gate_inp.weight"):
        return mixture
    return replace(gated_mlp(h, layer=layer), activation=outer)


def _activation(h: Hparams, key: str, layer: int) -> str | LimitedSwiglu:
    """Silu, bounded where the file has a number for the layer, or one for all."""
    given = h.raw(key)
    limits = np.resize(0.0 if given is None else np.asarray(given, float), h.positive("block_count"))
    return LimitedSwiglu(float(limits[layer])) if limits[layer] > LEAST_LIMIT else "silu"
