"""GPT-NeoX: partly rotated heads, blocks side by side or one after the other."""

from collections.abc import Container

from converters.archs.common import attention, decoder, head_dim, layer_norm, mlp
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import LAYER_INPUT, ModelSpec


def hugging_face(spec: ModelSpec, tensors: Container[str]) -> HuggingFace:
    """Whether blocks stand side by side; rotary embeddings have names of their own."""
    parallel = spec.layers[0].blocks[1].reads == LAYER_INPUT
    names = {"partial_rotary_factor": "rotary_pct", "rope_theta": "rotary_emb_base"}
    return HuggingFace("gpt_neox", "GPTNeoXForCausalLM", names, {"use_parallel_residual": parallel}, partial=True)


@architecture("gptneox", "GPT-NeoX, Pythia, Dolly 2, RedPajama-INCITE", hugging_face)
def gptneox(h: Hparams) -> ModelSpec:
    """Layer norms, GELU; each block has its own norm, also where both see the layer's input. Never tied."""
    mixer = attention(h, rope(h, head_dim(h), partial=True))
    layers = stack(h, mixer, mlp(h, "gelu_tanh"), parallel=h.flag("use_parallel_residual"))
    return decoder(h, layers, layer_norm(h), tied=False)
