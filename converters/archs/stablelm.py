"""StableLM: layer norms around SiLU-gated blocks, partly turned heads."""

from dataclasses import replace

from converters.archs.common import SHARED, WINDOW_KEYS, attention, decoder, gated, head_dim, layer_norm, stack
from converters.archs.hparams import Hparams
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, HeadNorm, ModelSpec


@architecture("stablelm", "StableLM, StableLM 2, Stable Code")
def stablelm(h: Hparams) -> ModelSpec:
    """Without ffn_norm (12B) both blocks see one norm of the layer's input, whatever a key says. Never tied."""
    h.ignore(*WINDOW_KEYS, "use_parallel_residual")
    rotary = rope(h, head_dim(h), partial=True)

    def mixer(i: int) -> Attention:
        each = HeadNorm("each") if h.has_tensor(f"blk.{i}.attn_q_norm.weight") else None
        return attention(h, rotary, qk_norm=each)

    layers = tuple(
        layer if h.has_tensor(f"blk.{layer.block}.ffn_norm.weight") else replace(layer, norms=SHARED, parallel=True)
        for layer in stack(h, mixer, gated(h))
    )
    return decoder(h, layers, layer_norm(h), tied=False)
