"""DeciLM and Llama-Nemotron: Llama pruned layer by layer, so that no two need be of one shape."""

from converters.archs.common import WINDOW_KEYS, attention, blocks, decoder, gated, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, Layer, ModelSpec, Projection, Rope
from repack.errors import MobiusError


@architecture("deci", "DeciLM, Llama-Nemotron")
def deci(h: Hparams) -> ModelSpec:
    """Heads and widths are per layer; attention may be a matrix product, and whole layers may be left out."""
    h.ignore(*WINDOW_KEYS, "attention.scale")
    rotary = rope(h, head_dim(h), interleaved=True, freqs=True, long_factors=True)
    kept = [i for i in range(blocks(h)) if h.at("feed_forward_length", i) != 0]
    # llama.cpp drops a layer without a feed-forward, and with it what its attention found.
    ignored = [f"blk.{i}.*" for i in range(blocks(h)) if i not in kept]
    layers = tuple(Layer(i, _mixer(h, rotary, i), gated(h, layer=i)) for i in kept)
    if not any(isinstance(layer.mixer, Attention) for layer in layers):
        raise MobiusError("no layer attends", "the metadata is damaged")
    for layer in layers:
        if not isinstance(layer.mixer, Attention):  # a bare product in llama.cpp, or nothing
            ignored += [f"blk.{layer.block}.attn_output.{extra}" for extra in ("bias", "scale")]
    return decoder(h, layers, rms_norm(h), ignored=tuple(ignored))


def _mixer(h: Hparams, rotary: Rope, i: int) -> Attention | Projection | None:
    """Attention; or one matrix in its place where there are no key/value heads; or nothing without any heads."""
    heads = h.at("attention.head_count", i)
    if heads == 0:
        return None
    if h.at("attention.head_count_kv", i, heads) == 0:
        return Projection(h.positive("embedding_length"))
    return attention(h, rotary, i)
