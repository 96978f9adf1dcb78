"""Gemma 4: local and global layers with heads of their own, caches that later layers read, per-layer embeddings.

Its mixture has experts beside the feed-forward that every token takes.

What a file has of it, its keys and tensors say: no size is known by its name.
"""

from collections.abc import Iterable
from dataclasses import replace

from converters.archs.common import attention, decoder, gated_mlp, head_dim, local_layers, rms_norm
from converters.archs.experts import IMPLIED, experts
from converters.archs.gemma4_class import hugging_face
from converters.archs.hparams import Hparams
from converters.archs.layers import SANDWICH, NormNames, layer
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import (
    Attention,
    Block,
    DenseAndExperts,
    HeadNorm,
    Layer,
    Mlp,
    ModelSpec,
    PerLayerEmbedding,
    PerLayerInput,
    Rope,
)
from repack.errors import MobiusError

LOCAL_THETA = 10000.0  # rotary base of local layers, unless the file says otherwise
FINAL_SOFTCAP = 30.0  # of the logits, unless the file says otherwise; 0 is none
ACTIVATION = "gelu_tanh"
MIXED = NormNames("attn_norm", "post_attention_norm", None, "post_ffw_norm")  # feed-forward and experts have their own
NOT_OF_DENSE = ("expert_count", "expert_used_count", "expert_feed_forward_length")  # keys that say nothing there


@architecture("gemma4", "Gemma 4: E2B, E4B, 26B-A4B, 31B", hugging_face)
def gemma4(h: Hparams) -> ModelSpec:
    """Sandwich norms, norms on q, k and v, no attention scale; norms hold the weight itself."""
    hidden, width = h.positive("embedding_length"), h.integer("embedding_length_per_layer_input")
    h.ignore(*NOT_OF_DENSE, *IMPLIED)
    layers = _layers(h, width > 0)
    return decoder(
        h,
        layers,
        rms_norm(h),
        genai_type="gemma4_text",
        mlp_scales=True,
        embedding_scale=hidden**0.5,
        per_layer=per_layer_embedding(hidden, width) if width > 0 else None,
        final_softcap=h.number("final_logit_softcapping", FINAL_SOFTCAP),
        ignored=unread_caches(layers),
        wide_residual=True,
    )


def per_layer_embedding(hidden: int, width: int) -> PerLayerEmbedding:
    """Both parts are as large as the stream's embedding; their sum is scaled like one."""
    return PerLayerEmbedding(width, table_scale=width**0.5, projection_scale=hidden**-0.5, sum_scale=2**-0.5)


def unread_caches(layers: Iterable[Layer]) -> tuple[str, ...]:
    """Tensors of keys and values that layers which read another's may still have."""
    readers = (i.index for i in layers for block in i.blocks if getattr(block.module, "cache_of", None) is not None)
    return tuple(f"blk.{index}.attn_{part}.*" for index in readers for part in ("k", "v", "k_norm"))


def _layers(h: Hparams, per_layer: bool) -> tuple[Layer, ...]:
    local, ropes = _local_layers(h), _ropes(h)
    owners = shared_cache(h, local, h.integer("attention.shared_kv_layers", 0))
    window = h.positive("attention.sliding_window")

    def made(i: int, mixer: Attention) -> Layer:
        dense = gated_mlp(h, ACTIVATION, layer=i)
        mixed = h.has_tensor(f"blk.{i}.ffn_gate_inp.weight")
        found = layer(i, mixer, _beside(h, dense, i) if mixed else dense, MIXED if mixed else SANDWICH)
        if per_layer:
            found = replace(found, blocks=(*found.blocks, Block(PerLayerInput(ACTIVATION), None, "post_norm")))
        scaled = h.has_tensor(f"blk.{i}.layer_output_scale.weight")
        return replace(found, closing_weight="layer_output_scale" if scaled else None)

    mixers = [_attention(h, i, ropes[near], window if near else None, owners[i]) for i, near in enumerate(local)]
    for i, owner in enumerate(owners):
        if owner is not None and mixers[i] != replace(mixers[owner], heads=mixers[i].heads, cache_of=owner):
            raise MobiusError(
                f"layer {i} reads keys and values of layer {owner}, but asks for others", "the metadata is damaged"
            )
    return tuple(made(i, mixer) for i, mixer in enumerate(mixers))


def _beside(h: Hparams, dense: Mlp, i: int) -> DenseAndExperts:
    """Experts whose weights, scores of all, add up to one for each token."""
    width = h.positive("expert_feed_forward_length")
    return DenseAndExperts(dense, experts(h, width, ACTIVATION, layer=i, normalize=True))


def _attention(h: Hparams, i: int, rotary: Rope, window: int | None, owner: int | None) -> Attention:
    """Of one layer, global without a window; where there is no attn_v for its keys, they are its values too."""
    mixer = attention(
        h, rotary, i, window=window, scale=1.0, qk_norm=HeadNorm(), value_norm=True,
        keys_as_values=not h.has_tensor(f"blk.{i if owner is None else owner}.attn_v.weight"), cache_of=owner,
    )  # fmt: skip
    keys, values = (f"attention.{part}_length_swa" for part in ("key", "value"))
    if window is not None:
        mixer = replace(mixer, head_dim=h.positive(keys), value_dim=h.positive(values))
    if mixer.head_dim != mixer.value_dim:  # llama.cpp stops here too
        raise MobiusError(
            f"layer {i} has keys of {mixer.head_dim} channels and values of {mixer.value_dim}",
            "this architecture has heads of one size; the metadata is damaged or unusual",
        )
    if rotary.dim > mixer.head_dim:
        raise MobiusError(
            f"layer {i} turns {rotary.dim} channels of heads of {mixer.head_dim}", "the metadata is damaged or unusual"
        )
    return mixer


def _ropes(h: Hparams) -> dict[bool, Rope]:
    """Of global (False) and local layers (True): frequency factors are for global ones, which turn in part by them."""
    whole = replace(rope(h, head_dim(h), partial=True), factors="rope_freqs.weight")
    turned = h.positive("rope.dimension_count_swa", whole.dim)
    theta = h.number("rope.freq_base_swa", LOCAL_THETA)
    return {False: whole, True: replace(whole, theta=theta, dim=turned, scaling=None, factors=None)}


def _local_layers(h: Hparams) -> list[bool]:
    """Flags per layer; a number is no period here."""
    given = h.raw("attention.sliding_window_pattern")
    if given is None or isinstance(given, int):  # llama.cpp stops here too
        raise MobiusError(
            f"{h.architecture}.attention.sliding_window_pattern is {given}, not a flag for each layer",
            "the file is incomplete, or of another tool",
        )
    return local_layers(h, 0)


def shared_cache(h: Hparams, local: list[bool], count: int) -> list[int | None]:
    """Which layer's keys and values each reads: the last `count` those of the last one of its kind before them.

    Raises:
        MobiusError: before them does not stand a local layer and a global one, in this order, as llama.cpp wants it.
    """
    first = len(local) - count
    if count and (count < 0 or first < 2 or [local[first - 2], local[first - 1]] != [True, False]):
        raise MobiusError(
            f"{count} of {len(local)} layers share keys and values, but no local and global layer stand before them",
            "the metadata is damaged or unusual",
        )
    return [None if i < first else first - (2 if local[i] else 1) for i in range(len(local))]
