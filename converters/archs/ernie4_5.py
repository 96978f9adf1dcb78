"""ERNIE 4.5: Llama, dense or with experts."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.experts import EXPERT_SCALES, IMPLIED, SHARED_SCALES, dense_layers, experts, shared_expert
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, ModelSpec, Module

HF = HuggingFace("ernie4_5", "Ernie4_5ForCausalLM", {"attention_bias": "use_bias", "mlp_bias": None})
UNUSED = ("blk.*.attn_output.bias",)


@architecture("ernie4_5", "ERNIE 4.5, dense", HF)
def ernie4_5(h: Hparams) -> ModelSpec:
    """The sections of multimodal positions are all the same for text."""
    layers = stack(h, _mixer(h), gated_mlp(h))
    return decoder(h, layers, rms_norm(h), genai_type="ernie4_5", ignored=UNUSED)


@architecture("ernie4_5-moe", "ERNIE 4.5: 21B-A3B, 300B-A47B")
def ernie4_5_moe(h: Hparams) -> ModelSpec:
    """Every `interleave_moe_layer_step`-th layer has experts, but for the first ones; weights add up to one."""
    h.ignore(*IMPLIED)
    first, step = dense_layers(h), h.positive("interleave_moe_layer_step")
    wide = h.integer("expert_shared_feed_forward_length", 0)
    shared = shared_expert(wide) if wide else None
    mixed = [i >= first and (i + 1) % step == 0 for i in range(h.positive("block_count"))]
    layer = mixed.index(True) if True in mixed else 0
    mixture = experts(h, h.positive("expert_feed_forward_length"), layer=layer, normalize=True, shared=shared)

    def mlp(i: int) -> Module:
        return mixture if mixed[i] else gated_mlp(h, layer=i)

    layers = stack(h, _mixer(h), mlp)
    return decoder(h, layers, rms_norm(h), ignored=(*UNUSED, *EXPERT_SCALES, *SHARED_SCALES))


def _mixer(h: Hparams) -> Attention:
    h.ignore("rope.dimension_sections")
    return attention(h, rope(h, head_dim(h), interleaved=True))
