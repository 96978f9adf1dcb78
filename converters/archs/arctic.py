"""Arctic: a dense feed-forward in every layer, and experts that read what the layer reads."""

from converters.archs.common import attention, decoder, head_dim, rms_norm
from converters.archs.experts import EXPERT_SCALES, IMPLIED, experts
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import LAYER_INPUT, Block, Layer, Mlp, ModelSpec


@architecture("arctic", "Snowflake Arctic")
def arctic(h: Hparams) -> ModelSpec:
    """The dense feed-forward is as wide as the stream; interleaved rotary pairs; weights add up to one."""
    h.ignore(*IMPLIED, "expert_feed_forward_length")
    mixer = attention(h, rope(h, head_dim(h), interleaved=True))
    mixture = Block(experts(h, h.positive("feed_forward_length"), normalize=True), "ffn_norm_exps", reads=LAYER_INPUT)
    dense = stack(h, mixer, Mlp(h.positive("embedding_length"), "silu"))
    layers = tuple(Layer(one.index, (*one.blocks, mixture)) for one in dense)
    return decoder(h, layers, rms_norm(h), ignored=EXPERT_SCALES)
