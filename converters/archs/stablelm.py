"""StableLM: layer norms around SiLU-gated blocks, partly rotated heads."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, layer_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import PRE_NORM, SHARED, NormNames, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, HeadNorm, ModelSpec


@architecture("stablelm", "StableLM, StableLM 2, Stable Code")
def stablelm(h: Hparams) -> ModelSpec:
    """Without ffn_norm (12B) both blocks see one norm of the layer's input, whatever a key says. Never tied."""
    h.ignore("use_parallel_residual")
    rotary = rope(h, head_dim(h), partial=True)

    def mixer(i: int) -> Attention:
        each = HeadNorm("each") if h.has_tensor(f"blk.{i}.attn_q_norm.weight") else None
        return attention(h, rotary, qk_norm=each)

    def parallel(i: int) -> bool:
        return not h.has_tensor(f"blk.{i}.ffn_norm.weight")

    def norms(i: int) -> NormNames:
        return SHARED if parallel(i) else PRE_NORM

    return decoder(h, stack(h, mixer, gated_mlp(h), norms, parallel=parallel), layer_norm(h), tied=False)
