"""GPT-NeoX: partly rotated heads, blocks side by side or one after the other."""

from converters.archs.common import attention, decoder, head_dim, layer_norm, mlp
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec


@architecture("gptneox", "GPT-NeoX, Pythia, Dolly 2, RedPajama-INCITE")
def gptneox(h: Hparams) -> ModelSpec:
    """Layer norms, GELU; each block has its own norm, also where both see the layer's input. Never tied."""
    mixer = attention(h, rope(h, head_dim(h), partial=True))
    layers = stack(h, mixer, mlp(h, "gelu_tanh"), parallel=h.flag("use_parallel_residual"))
    return decoder(h, layers, layer_norm(h), tied=False)
