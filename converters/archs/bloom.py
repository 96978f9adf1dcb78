"""BLOOM: as GPT-2, with ALiBi for learned positions."""

from converters.archs.common import decoder, layer_norm, mlp
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import stack
from converters.archs.nope import alibi
from converters.archs.registry import architecture
from converters.spec import ModelSpec

ALIBI_BIAS = 8.0  # llama.cpp does not ask the file
HF = HuggingFace(
    "bloom",
    "BloomForCausalLM",
    {"num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "layer_norm_eps": "layer_norm_epsilon"},
)


@architecture("bloom", "BLOOM, BLOOMZ", HF)
def bloom(h: Hparams) -> ModelSpec:
    """Layer norms, also of the embeddings; GELU without a gate."""
    return decoder(h, stack(h, alibi(h, ALIBI_BIAS), mlp(h, "gelu_tanh")), layer_norm(h), embedding_norm=True)
