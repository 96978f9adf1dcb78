"""Nemotron and Minitron: layer norms with biases, squared ReLU without a gate, partial rotary embedding."""

from converters.archs.common import attention, decoder, head_dim, layer_norm, mlp
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec

HF = HuggingFace(
    "nemotron",
    "NemotronForCausalLM",
    {"layer_norm_eps": "norm_eps"},
    partial=True,
    optimum=("kv_heads", "head_dim"),
    transformers_js=False,
)


@architecture("nemotron", "Nemotron 4, Minitron", HF)
def nemotron(h: Hparams) -> ModelSpec:
    """The first channels of each head turn; the norms' weights hold 1 + w already."""
    mixer = attention(h, rope(h, head_dim(h), partial=True))
    return decoder(h, stack(h, mixer, mlp(h, "relu_squared")), layer_norm(h), tied=False, genai_type="nemotron")
