"""Arcee's mixtures: sandwich norms, gated attention, positions in three of four layers."""

from dataclasses import replace

from converters.archs.common import attention, decoder, gated_mlp, head_dim, local_layers, rms_norm
from converters.archs.experts import EXPERT_SCALES, SHARED_SCALES, dense_layers, experts, scores, shared_expert
from converters.archs.hparams import Hparams
from converters.archs.layers import SANDWICH, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import SIGMOID, Attention, HeadNorm, ModelSpec, Module

PERIOD = 4  # every fourth layer is global, unless the file says otherwise
NO_POSITIONS = 4  # every fourth layer has none, whether it is global or not


@architecture("afmoe", "Trinity Nano, Mini")
def afmoe(h: Hparams) -> ModelSpec:
    """Embeddings times sqrt(hidden); experts behind a few dense layers."""
    hidden, window, first = h.positive("embedding_length"), h.positive("attention.sliding_window"), dense_layers(h)
    local = local_layers(h, PERIOD)
    distant = rope(h, head_dim(h), partial=True)
    near = replace(distant, theta=h.number("rope.freq_base_swa", distant.theta))

    def mixer(i: int) -> Attention:
        rotary = None if (i + 1) % NO_POSITIONS == 0 else near if local[i] else distant
        return attention(h, rotary, window=window if local[i] else None, qk_norm=HeadNorm(), gate="channel")

    width, shared = h.positive("expert_feed_forward_length"), h.integer("expert_shared_count")
    mixture = experts(
        h,
        width,
        layer=first,
        scores=scores(h, SIGMOID),
        normalize=h.flag("expert_weights_norm", False),
        scale=h.number("expert_weights_scale", 0.0),
        shared=shared_expert(width * shared) if shared else None,
    )

    def mlp(i: int) -> Module:
        return mixture if i >= first else gated_mlp(h, layer=i)

    return decoder(
        h,
        stack(h, mixer, mlp, SANDWICH),
        rms_norm(h),
        embedding_scale=hidden**0.5,
        ignored=(*EXPERT_SCALES, *SHARED_SCALES, "blk.*.attn_gate.scale"),
    )
