"""OpenELM: heads and feed-forward widths that differ from layer to layer."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, HeadNorm, ModelSpec


@architecture("openelm", "OpenELM")
def openelm(h: Hparams) -> ModelSpec:
    """As Llama, with fused q, k and v, an RMS norm on each head of q and k, and always a tied head."""
    rotary = rope(h, head_dim(h), partial=True)

    def mixer(i: int) -> Attention:
        return attention(h, rotary, i, qk_norm=HeadNorm())

    layers = stack(h, mixer, lambda i: gated_mlp(h, layer=i))
    return decoder(h, layers, rms_norm(h), tied=True, ignored=("blk.*.attn_qkv.scale",))
