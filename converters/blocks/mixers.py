"""A layer's mixer by its kind."""

from converters.blocks.attention import attention
from converters.blocks.context import Attend, Builder
from converters.blocks.latent import latent_attention
from converters.blocks.linear import linear
from converters.graph.graph import Value
from converters.spec import LatentAttention, Mixer, Projection


def mix(b: Builder, x: Value, mixer: Mixer, prefix: str, attend: Attend) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    if isinstance(mixer, Projection):
        return linear(b, x, f"{prefix}.attn_output", b.spec.hidden, mixer.width)
    if isinstance(mixer, LatentAttention):
        return latent_attention(b, x, mixer, prefix, attend)
    return attention(b, x, mixer, prefix, attend)
