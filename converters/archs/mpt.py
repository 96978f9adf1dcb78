"""MPT: GELU without a gate, ALiBi; much that a file may have or not."""

from collections.abc import Container

from converters.archs.common import decoder, layer_norm, mlp
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import stack
from converters.archs.nope import alibi
from converters.archs.registry import architecture
from converters.spec import Attention, Mlp, ModelSpec

HF_NAMES = {
    "hidden_size": "d_model", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads",
    "max_position_embeddings": "max_seq_len", "layer_norm_eps": "layer_norm_epsilon", "intermediate_size": None,
    "hidden_act": None, "head_dim": None, "attention_bias": None, "mlp_bias": None,
}  # fmt: skip


def hugging_face(spec: ModelSpec, tensors: Container[str]) -> HuggingFace | None:
    """Whole numbers say how wide the feed-forward is and how steep ALiBi: a model of others has no class."""
    mixer = spec.attention
    assert isinstance(mixer, Attention) and spec.mlp is not None
    if spec.mlp.width % spec.hidden or mixer.max_alibi_bias % 1:
        return None
    attention = {
        "alibi": mixer.max_alibi_bias > 0,
        "alibi_bias_max": int(mixer.max_alibi_bias),
        "clip_qkv": mixer.clip or None,
    }
    values = {
        "expansion_ratio": spec.mlp.width // spec.hidden,
        "learned_pos_emb": spec.learned_positions,
        "no_bias": "blk.0.attn_output.bias" not in tensors,
        "attn_config": attention,
    }
    return HuggingFace("mpt", "MptForCausalLM", HF_NAMES, values)


@architecture("mpt", "MPT, Replit Code", hugging_face)
def mpt(h: Hparams) -> ModelSpec:
    """Layer norms; clamped q, k and v, biases, learned positions and AWQ's divisors where the file has them.

    Norms of q and k are refused: llama.cpp ends the process on them.
    """
    mixer = alibi(h, clip=max(0.0, h.number("attention.clamp_kqv", 0.0)))

    def feed_forward(i: int) -> Mlp:
        return mlp(h, "gelu_tanh", divisors=h.has_tensor(f"blk.{i}.ffn.act.scales"))

    return decoder(
        h,
        stack(h, mixer, feed_forward),
        layer_norm(h),
        learned_positions=h.has_tensor("position_embd.weight"),
        ignored=("blk.*.attn_k_norm.*",),  # alone it is loaded only
    )
