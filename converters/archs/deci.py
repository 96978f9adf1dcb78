"""DeciLM and Llama-Nemotron: Llama pruned layer by layer, so that no two need be of one shape."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, layer_count, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, Block, Layer, LinearMixer, ModelSpec, Module, Rope
from repack.errors import MobiusError


@architecture("deci", "DeciLM, Llama-Nemotron")
def deci(h: Hparams) -> ModelSpec:
    """Heads and widths are per layer; attention may be a matrix product, and whole layers may be left out."""
    rotary = rope(h, head_dim(h), interleaved=True, freqs=True, long_factors=True)
    kept = [i for i in range(layer_count(h)) if h.at("feed_forward_length", i) != 0]
    # llama.cpp drops a layer without a feed-forward, and with it what its attention found.
    ignored = [f"blk.{i}.*" for i in range(layer_count(h)) if i not in kept]
    layers = tuple(_layer(h, rotary, i) for i in kept)
    for layer in layers:
        if not _attends(layer):  # a bare product in llama.cpp, or nothing
            ignored += [f"blk.{layer.index}.attn_output.{extra}" for extra in ("bias", "scale")]
    if not any(_attends(layer) for layer in layers):
        raise MobiusError("no layer attends", "the metadata is damaged")
    return decoder(h, layers, rms_norm(h), ignored=tuple(ignored))


def _layer(h: Hparams, rotary: Rope, i: int) -> Layer:
    """Attention; or one matrix in its place where there are no key/value heads; or nothing without any heads."""
    heads = h.at("attention.head_count", i)
    mixers: list[Module] = []
    if heads != 0:
        bare = h.at("attention.head_count_kv", i, heads) == 0
        mixers.append(LinearMixer(h.positive("embedding_length")) if bare else attention(h, rotary, i))
    return Layer(i, (*(Block(mixer, "attn_norm") for mixer in mixers), Block(gated_mlp(h, layer=i), "ffn_norm")))


def _attends(layer: Layer) -> bool:
    return any(isinstance(block.module, Attention) for block in layer.blocks)
