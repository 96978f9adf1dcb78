"""Falcon: both blocks see the layer's input; no biases but those of the norms."""

from collections.abc import Container
from typing import Any

from converters.archs.common import attention, decoder, head_dim, layer_norm, mlp
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import SHARED, NormNames, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec

TWO_NORMS = NormNames("attn_norm_2", mlp="attn_norm")  # of layers that have both, despite the first one's name


HF_NAMES = {
    "intermediate_size": "ffn_hidden_size", "num_key_value_heads": "num_kv_heads", "hidden_act": "activation",
    "layer_norm_eps": "layer_norm_epsilon", "attention_bias": "bias", "mlp_bias": None, "head_dim": None,
}  # fmt: skip


def hugging_face(spec: ModelSpec, tensors: Container[str]) -> HuggingFace:
    """Grouped heads belong to the newer of the two orders that the class knows.

    One key/value head is what it assumes; if it is told so, transformers.js looks for keys and values in one array.
    """
    assert spec.attention is not None
    heads, kv_heads = spec.attention.heads, spec.attention.kv_heads
    values: dict[str, Any] = {
        "new_decoder_architecture": 1 < kv_heads < heads,
        "num_ln_in_parallel_attn": 2 if "blk.0.attn_norm_2.weight" in tensors else 1,
        "parallel_attn": True,
        "alibi": False,
    }
    if kv_heads > 1:
        values["multi_query"] = False
    return HuggingFace("falcon", "FalconForCausalLM", HF_NAMES, values, optimum=("kv_heads",))


@architecture("falcon", "Falcon 7B, 40B, 180B", hugging_face)
def falcon(h: Hparams) -> ModelSpec:
    """Layer norms, GELU; one norm for both blocks (7B) or one each (40B)."""
    h.ignore("use_parallel_residual")
    mixer = attention(h, rope(h, head_dim(h)))

    def norms(i: int) -> NormNames:
        return TWO_NORMS if h.has_tensor(f"blk.{i}.attn_norm_2.weight") else SHARED

    return decoder(h, stack(h, mixer, mlp(h, "gelu_tanh"), norms, parallel=True), layer_norm(h))
