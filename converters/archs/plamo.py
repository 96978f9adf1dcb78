"""PLaMo 1: parallel blocks behind one norm. PLaMo 2: state spaces and attention by turns, norms around all blocks."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm, value_dim
from converters.archs.hparams import Hparams
from converters.archs.layers import SANDWICH, SHARED, stack
from converters.archs.recurrent import projected_space, without_heads
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import HeadNorm, ModelSpec, Module

# Second-level scales that llama.cpp loads and does not apply here.
UNUSED = tuple(f"blk.*.{name}.scale" for name in ("ssm_in", "ssm_out", "attn_qkv"))


@architecture("plamo", "PLaMo 1")
def plamo(h: Hparams) -> ModelSpec:
    """SiLU-gated, RMS norms, split-half rotary pairs, an untied head."""
    layers = stack(h, attention(h, rope(h, head_dim(h))), gated_mlp(h), SHARED, parallel=True)
    return decoder(h, layers, rms_norm(h), tied=False)


@architecture("plamo2", "PLaMo 2")
def plamo2(h: Hparams) -> ModelSpec:
    """A layer without key/value heads is a state space; each head of the others has a norm of its own."""
    rotary, spaces, headless = rope(h, head_dim(h), partial=True), projected_space(h), without_heads(h)
    norms, scale = HeadNorm("each"), value_dim(h) ** -0.5

    def mixer(layer: int) -> Module:
        return spaces if headless[layer] else attention(h, rotary, layer, qk_norm=norms, scale=scale)

    return decoder(h, stack(h, mixer, gated_mlp(h), SANDWICH), rms_norm(h), ignored=UNUSED)
