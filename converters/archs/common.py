"""What most decoder-only architectures share when their numbers are read."""

from collections.abc import Callable

from converters.hparams import Hparams
from converters.spec import Attention, GatedMlp, Layer, LinearScaling, ModelSpec, Rope, YarnScaling
from repack.errors import MobiusError

WINDOW_KEYS = ("attention.sliding_window", "attention.sliding_window_pattern")


def head_dim(h: Hparams) -> int:
    """Channels of a head: `key_length`, else hidden / heads; keys and values must agree."""
    heads, hidden = h.positive("attention.head_count"), h.positive("embedding_length")
    key = h.positive("attention.key_length", hidden // heads)
    value = h.positive("attention.value_length", hidden // heads)
    if key != value:
        raise MobiusError(
            f"attention.key_length {key} differs from attention.value_length {value}",
            "GroupQueryAttention needs them equal; this model is not supported",
        )
    return key


def rope(h: Hparams, *, interleaved: bool = False, factors: bool = False, partial: bool = False) -> Rope:
    """The rotary embedding as llama.cpp reads it.

    `factors` says that the architecture honours rope_freqs, `partial` that it may turn a part of each head.
    """
    name = "rope_freqs.weight"
    dim = h.positive("rope.dimension_count", head_dim(h))
    if dim > head_dim(h) or (dim != head_dim(h) and not partial):  # llama.cpp stops here too
        raise MobiusError(
            f"rope.dimension_count {dim} differs from the head's {head_dim(h)} channels",
            "this architecture turns whole heads; the metadata is damaged or unusual",
        )
    return Rope(
        theta=h.number("rope.freq_base", 10000.0),
        dim=dim,
        interleaved=interleaved,
        scaling=_rope_scaling(h),
        factors=name if factors and h.has_tensor(name) else None,
        magnitude=h.number("rope.scaling.attn_factor", 1.0),
    )


def _rope_scaling(h: Hparams) -> LinearScaling | YarnScaling | None:
    kind = h.text("rope.scaling.type", "linear")
    factor = h.number("rope.scaling.factor", h.number("rope.scale_linear", 0.0))
    original = h.positive("rope.scaling.original_context_length", h.positive("context_length"))
    h.ignore("rope.scaling.yarn_ext_factor", "rope.scaling.yarn_attn_factor", "rope.scaling.yarn_log_multiplier")
    h.ignore("rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow")
    if kind == "none" or (kind == "linear" and factor in (0.0, 1.0)):
        return None
    if factor <= 0:
        raise MobiusError(
            f"rope.scaling.type is {kind} but rope.scaling.factor is {factor:g}",
            "the file does not say how far positions are stretched",
        )
    if kind == "linear":
        return LinearScaling(factor)
    if kind == "yarn":
        return YarnScaling(factor, original)
    raise MobiusError(f"rope.scaling.type {kind!r} is not supported", "supported: none, linear, yarn")


def attention(
    h: Hparams, rotary: Rope, *, window: int | None = None, qk_norm: bool = False, scale: float | None = None
) -> Attention:
    """Grouped-query attention with the file's head counts."""
    heads, dim = h.positive("attention.head_count"), head_dim(h)
    kv_heads = h.positive("attention.head_count_kv", heads)
    if heads % kv_heads:
        raise MobiusError(f"{heads} heads cannot share {kv_heads} key/value heads", "the metadata is damaged")
    return Attention(heads, kv_heads, dim, rotary, dim**-0.5 if scale is None else scale, window, 0.0, qk_norm)


def decoder(
    h: Hparams,
    *,
    mixer: Callable[[int], Attention],
    activation: str,
    genai_type: str,
    post_norms: bool = False,
    embedding_scale: float = 1.0,
    final_softcap: float = 0.0,
    wide_residual: bool = False,
) -> ModelSpec:
    """A stack of equal layers, but for what `mixer` says of layer i."""
    mlp = GatedMlp(h.positive("feed_forward_length"), activation)
    embedding = h.source.tensors.get("token_embd.weight")
    if embedding is None:
        raise MobiusError("tensor token_embd.weight is missing", "the file is incomplete, or holds a vocabulary only")
    return ModelSpec(
        architecture=h.architecture,
        genai_type=genai_type,
        hidden=h.positive("embedding_length"),
        vocab=embedding.shape[0],
        context_length=h.positive("context_length"),
        norm_epsilon=h.number("attention.layer_norm_rms_epsilon"),
        layers=tuple(Layer(mixer(i), mlp, post_norms) for i in range(h.positive("block_count"))),
        tied_head=not h.has_tensor("output.weight"),
        embedding_scale=embedding_scale,
        final_softcap=final_softcap,
        wide_residual=wide_residual,
    )
