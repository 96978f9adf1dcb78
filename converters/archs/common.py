"""What most decoder-only architectures share when their numbers are read."""

from typing import Any

from converters.archs.hparams import Hparams
from converters.spec import Attention, Layer, Mlp, ModelSpec, Norm, Rope, Xielu
from repack.errors import MobiusError

# Second-level scales that llama.cpp loads for every architecture and uses for few; those of experts are not among them.
MLP_SCALES = tuple(f"blk.*.ffn_{part}.scale" for part in ("gate", "up", "down"))


def head_dim(h: Hparams, layer: int = 0) -> int:
    """Channels of a query or key: `key_length`, else hidden / heads of the first layer."""
    return _positive(h, "attention.key_length", layer)


def value_dim(h: Hparams, layer: int = 0) -> int:
    """Channels of a value: `value_length`, else hidden / heads of the first layer."""
    return _positive(h, "attention.value_length", layer)


def _positive(h: Hparams, key: str, layer: int) -> int:
    found = h.at(key, layer, h.positive("embedding_length") // max(1, h.at("attention.head_count", 0)))
    if not 1 <= found < 2**31:
        raise MobiusError(f"{h.architecture}.{key} is {found}, not a number of at least 1", "the metadata is damaged")
    return found


def layer_count(h: Hparams) -> int:
    """Layers that run; blocks behind them predict further tokens in training only."""
    count = h.positive("block_count") - h.integer("nextn_predict_layers", 0)
    if count < 1:
        raise MobiusError(f"{h.architecture}.block_count leaves {count} layers", "the metadata is damaged")
    return count


def rms_norm(h: Hparams) -> Norm:
    """Root-mean-square norms everywhere."""
    h.ignore("attention.layer_norm_epsilon")  # converters write both where a configuration has both
    return Norm("rms", h.number("attention.layer_norm_rms_epsilon"))


def layer_norm(h: Hparams) -> Norm:
    """Layer norms everywhere, with the biases that the file has."""
    h.ignore("attention.layer_norm_rms_epsilon")
    return Norm("layer", h.number("attention.layer_norm_epsilon"))


def attention(h: Hparams, rotary: Rope | None, layer: int | None = None, **choices: Any) -> Attention:
    """Grouped-query attention with the file's head counts, or those of a `layer` where they differ between layers.

    `choices` are fields of `Attention`. The scale is 1 / sqrt(head_dim) unless given.
    """
    if layer is None:
        heads = h.integer("attention.head_count")
        kv_heads, layer = h.integer("attention.head_count_kv", heads), 0
    else:
        heads = h.at("attention.head_count", layer)
        kv_heads = h.at("attention.head_count_kv", layer, heads)
    if heads < 1 or kv_heads < 1 or heads % kv_heads:
        raise MobiusError(f"{heads} heads cannot share {kv_heads} key/value heads", "the metadata is damaged")
    dim = head_dim(h, layer)
    return Attention(heads, kv_heads, dim, value_dim(h, layer), rotary, **{"scale": dim**-0.5, **choices})


def gated_mlp(h: Hparams, activation: str = "silu", *, layer: int = 0, **choices: Any) -> Mlp:
    """A gated feed-forward; gate and up are one tensor where the file has no ffn_gate."""
    gate = "separate" if h.has_tensor(f"blk.{layer}.ffn_gate.weight") else "fused"
    return Mlp(_width(h, layer), activation, gate, **choices)


def mlp(h: Hparams, activation: str | Xielu, *, layer: int = 0, **choices: Any) -> Mlp:
    """A feed-forward without a gate."""
    return Mlp(_width(h, layer), activation, "none", **choices)


def _width(h: Hparams, layer: int) -> int:
    width = h.at("feed_forward_length", layer)
    if not 1 <= width < 2**31:
        raise MobiusError(
            f"{h.architecture}.feed_forward_length is {width} in layer {layer}", "the metadata is damaged"
        )
    return width


def local_layers(h: Hparams, period: int) -> list[bool]:
    """Which layers see a window only: by flags per layer, or all but every `period`-th, as the file or else we say.

    A period of 0 makes all layers local.
    """
    count = layer_count(h)
    given = h.raw("attention.sliding_window_pattern")
    if given is None or isinstance(given, int):
        every = period if given is None else int(given)
        return [every == 0 or i % every < every - 1 for i in range(count)]
    flags = [bool(flag) for flag in given]
    if len(flags) != h.positive("block_count"):
        raise MobiusError(
            f"{h.architecture}.attention.sliding_window_pattern has {len(flags)} entries for {count} layers",
            "the metadata is damaged",
        )
    return flags[:count]


def flagged_layers(h: Hparams) -> list[bool]:
    """Which layers see a window only, where the file must say it of each; one number speaks for all."""
    given = h.raw("attention.sliding_window_pattern")
    if given is None:
        raise MobiusError(f"the file has no key {h.architecture}.attention.sliding_window_pattern", "it is incomplete")
    return [bool(given)] * layer_count(h) if isinstance(given, int) else local_layers(h, 0)


def decoder(
    h: Hparams,
    layers: tuple[Layer, ...],
    norm: Norm,
    *,
    tied: bool | None = None,
    genai_type: str = "decoder",
    mlp_scales: bool = False,
    ignored: tuple[str, ...] = (),
    **choices: Any,
) -> ModelSpec:
    """A model of `layers`; `choices` are fields of `ModelSpec`.

    `tied`: whether the head is the embedding; None: where the file has no output.weight. `mlp_scales`:
    llama.cpp applies second-level scales of the feed-forward's matrices; for most architectures it does not.
    """
    embedding = choices.setdefault("embedding", "token_embd")
    info = h.source.tensors.get(f"{embedding}.weight")
    if info is None:
        raise MobiusError(f"tensor {embedding}.weight is missing", "the file is incomplete, or holds a vocabulary only")
    if tied is None:
        tied = not h.has_tensor("output.weight")
    ignored += tuple(f"blk.{i}.*" for i in range(layer_count(h), h.positive("block_count")))  # predict further tokens
    if not mlp_scales:
        ignored += MLP_SCALES
    return ModelSpec(
        architecture=h.architecture,
        genai_type=genai_type,
        hidden=h.positive("embedding_length"),
        vocab=info.shape[0],
        context_length=h.positive("context_length"),
        norm=norm,
        layers=layers,
        head=embedding if tied else "output",
        ignored=ignored,
        **choices,
    )
