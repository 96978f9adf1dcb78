"""The config.json of Gemma 2 and 3, text: windows, softcaps, a base of their own for local layers."""

from collections.abc import Mapping
from typing import Any

from converters.archs.checkpoint.common import ATTENTION_BIASES, biases_agree, decoder_keys
from converters.archs.checkpoint.config import Config
from repack.errors import MobiusError

LOCAL, GLOBAL = "sliding_attention", "full_attention"
SCALED_BY_WIDTH = {"gemma2": 46, "gemma3": 62}  # layers of the one size whose scale is that of hidden / heads
ACTIVATION = "gelu_pytorch_tanh"


def gemma2(config: Config, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Every second layer is global."""
    keys = _shared(config, tensors, "gemma2", period=2, kv_heads=4, window=4096)
    return {
        **keys,
        "attn_logit_softcapping": config.number("attn_logit_softcapping", 50.0),
        "final_logit_softcapping": config.number("final_logit_softcapping", 30.0),
    }


def gemma3_text(config: Config, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Every sixth layer is global, and has the stretched positions."""
    config.expect("attn_logit_softcapping", None)
    config.expect("final_logit_softcapping", None)
    config.expect("use_bidirectional_attention", False)
    config.expect("sliding_window_pattern", 6)
    keys = _shared(config, tensors, "gemma3", period=6, kv_heads=4, window=4096)
    return {**keys, "rope.freq_base_swa": _local_base(config)}


def _shared(
    config: Config, tensors: Mapping[str, Any], kind: str, *, period: int, kv_heads: int, window: int
) -> dict[str, Any]:
    biases_agree(config, "attention_bias", ATTENTION_BIASES, tensors)
    config.get("cache_implementation")  # of generation
    config.expect("hidden_activation", ACTIVATION)
    layers = config.integer("num_hidden_layers")
    config.expect("layer_types", [GLOBAL if (layer + 1) % period == 0 else LOCAL for layer in range(layers)])
    keys = decoder_keys(config, kv_heads=kv_heads, head_dim=256, activation=ACTIVATION, windows=True)
    heads, dim = keys["attention.head_count"], keys["attention.key_length"]
    implied = keys["embedding_length"] // heads if layers == SCALED_BY_WIDTH[kind] else dim
    config.expect("query_pre_attn_scalar", implied, 256)
    return {**keys, "attention.sliding_window": config.integer("sliding_window", window)}


def _local_base(config: Config) -> float:
    """Version 5 of transformers has the numbers of both kinds of layers side by side."""
    both = config.raw("rope_parameters", None)
    if isinstance(both, Mapping) and LOCAL in both:
        local = dict(both[LOCAL])
        base = Config({"rope_theta": local.pop("rope_theta", None)}).number("rope_theta", 10000.0)
        if local.pop("rope_type", "default") != "default" or local:
            raise MobiusError(
                "config.json: positions of local layers are scaled", "convert a GGUF of the model instead"
            )
        return base
    return config.number("rope_local_base_freq", 10000.0)
