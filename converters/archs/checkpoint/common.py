"""What the configurations of most decoders share, under GGUF's keys."""

from collections.abc import Mapping
from typing import Any

from converters.archs.checkpoint.config import Config
from converters.archs.checkpoint.rope import rope_keys
from repack.errors import MobiusError

_FULL = "full_attention"
MLP_BIASES = ("gate_proj.bias", "up_proj.bias", "down_proj.bias")
ATTENTION_BIASES = tuple(f"{part}_proj.bias" for part in "qkvo")


def decoder_keys(
    config: Config,
    *,
    kv_heads: int | None = None,
    head_dim: int | None = None,
    activation: str = "silu",
    windows: bool = False,
    turned: float = 1.0,
) -> dict[str, Any]:
    """Sizes, epsilon and rotary embedding; `kv_heads` and `head_dim` are what the class takes where nothing is said.

    `windows`: the caller reads which layers have them. `turned`: the share of a head's channels that positions turn.

    Raises:
        MobiusError: a number is missing, or not supported.
    """
    heads, hidden = config.integer("num_attention_heads"), config.integer("hidden_size")
    dim = config.integer("head_dim", head_dim or hidden // heads)
    layers = config.integer("num_hidden_layers")
    config.expect("hidden_act", activation)
    if not windows:
        _only_full_attention(config, layers)
    return {
        "context_length": config.integer("max_position_embeddings"),
        "vocab_size": config.integer("vocab_size"),
        "embedding_length": hidden,
        "block_count": layers,
        "feed_forward_length": config.integer("intermediate_size"),
        "attention.head_count": heads,
        "attention.head_count_kv": config.integer("num_key_value_heads", kv_heads or heads),
        "attention.key_length": dim,
        "attention.value_length": dim,
        "attention.layer_norm_rms_epsilon": config.number("rms_norm_eps", 1e-6),
        **rope_keys(config, int(dim * turned)),
    }


def expert_keys(config: Config, width: int) -> dict[str, Any]:
    """Of a mixture in every layer; `width` is what the class takes where nothing is said.

    Raises:
        MobiusError: some layers have none.
    """
    config.expect("decoder_sparse_step", 1)
    config.expect("mlp_only_layers", [])
    count = config.get("num_local_experts")  # as version 5 of transformers names it
    return {
        "expert_count": config.integer("num_experts", count),
        "expert_used_count": config.integer("num_experts_per_tok"),
        "expert_feed_forward_length": config.integer("moe_intermediate_size", width),
    }


def _only_full_attention(config: Config, layers: int) -> None:
    """Refuse windows; `max_window_layers` and a size mean nothing where none is used."""
    windowed = config.get("use_sliding_window", False)
    config.get("sliding_window")  # of which the others know nothing: their own files refuse it
    config.get("max_window_layers")
    if windowed:
        raise config.wrong("use_sliding_window", windowed, "false")
    kinds = config.get("layer_types", [_FULL] * layers)
    if kinds != [_FULL] * layers:
        raise config.wrong("layer_types", kinds, f"{_FULL} for each of {layers} layers")


def no_windows(config: Config, default: int | None = None) -> None:
    """Refuse a window; `default` is that of the class where nothing is said, and null is none.

    Raises:
        MobiusError: there is one.
    """
    if (window := config.raw("sliding_window", default)) is not None:
        raise config.wrong("sliding_window", window, "null")


def all_biases_agree(config: Config, tensors: Mapping[str, Any]) -> None:
    """Of attention and of the feed-forward, by Llama's two keys."""
    biases_agree(config, "attention_bias", ATTENTION_BIASES, tensors)
    biases_agree(config, "mlp_bias", MLP_BIASES, tensors)


def biases_agree(config: Config, key: str, suffixes: tuple[str, ...], tensors: Mapping[str, Any]) -> None:
    """Refuse a folder whose tensors have biases where its configuration says that there are none, or the reverse."""
    said, found = bool(config.get(key, False)), any(name.endswith(suffixes) for name in tensors)
    if said != found:
        raise MobiusError(
            f"config.json: {key} is {str(said).lower()}, but the folder has {'' if found else 'no '}such biases",
            "the configuration and the tensors contradict each other",
        )
