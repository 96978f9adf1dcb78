"""Kimi Linear: most layers are delta attention, some latent attention without positions; experts behind the first."""

from converters.archs.common import MLP_SCALES, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.experts import EXPERT_SCALES, SHARED_SCALES, dense_layers, experts, scores, shared_expert
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.nope import ROPE_KEYS
from converters.archs.recurrent import kernel, without_heads
from converters.archs.registry import architecture
from converters.spec import KeyedDeltaNet, LatentAttention, ModelSpec, Module
from repack.errors import MobiusError

# That llama.cpp loads: its products here take neither biases nor second-level scales.
UNUSED = (
    *("blk.*.attn_[qkv].bias", "blk.*.attn_[qkv].scale", "blk.*.ssm_beta.scale", "output.scale"),
    *(*MLP_SCALES, *EXPERT_SCALES, *SHARED_SCALES),
)


@architecture("kimi-linear", "Kimi Linear")
def kimi_linear(h: Hparams) -> ModelSpec:
    """A layer without key/value heads is delta attention; the weights of a token's experts add up to one."""
    h.ignore(
        *ROPE_KEYS, "attention.q_lora_rank", "expert_weights_norm", "attention.key_length", "attention.value_length"
    )
    h.raw("feed_forward_length")  # of the dense layers, and there may be none
    recurrent, dense = without_heads(h), dense_layers(h)
    heads, width = h.positive("attention.head_count"), h.positive("expert_feed_forward_length")
    delta, latent = KeyedDeltaNet(heads, h.positive("kda.head_dim"), kernel(h)), _latent(h, heads, [*recurrent, False])
    beside = shared_expert(width * max(1, h.integer("expert_shared_count")))
    chosen, scale = scores(h), h.number("expert_weights_scale", 0.0)

    def feeds(layer: int) -> Module:
        if layer < dense:
            return gated_mlp(h)
        return experts(h, width, layer=layer, scores=chosen, normalize=True, scale=scale, shared=beside)

    ignored = UNUSED + tuple(f"blk.{i}.attn_output.scale" for i, found in enumerate(recurrent) if found)
    mixers = stack(h, lambda i: delta if recurrent[i] else latent, feeds)
    return decoder(h, mixers, rms_norm(h), tied=False, ignored=ignored)


def _latent(h: Hparams, heads: int, recurrent: list[bool]) -> LatentAttention:
    """The file's head_count_kv, key_length and value_length are those of a cache of latent channels."""
    dim, shared = h.positive("attention.key_length_mla"), h.integer("rope.dimension_count", head_dim(h))
    if not 0 < shared < dim:
        raise MobiusError(
            f"{h.architecture}.rope.dimension_count is {shared}, not below the {dim} channels of a key",
            "the metadata is damaged",
        )
    return LatentAttention(
        heads=heads,
        nope_dim=dim - shared,
        value_dim=h.positive("attention.value_length_mla"),
        q_rank=0,
        kv_rank=h.positive("attention.kv_lora_rank"),
        rope=None,
        scale=dim**-0.5,
        absorbed=h.has_tensor(f"blk.{recurrent.index(False)}.attn_k_b.weight"),
        unturned_dim=shared,
    )
