"""The config.json of models that are Llama but for a few numbers: Mistral, Granite, SmolLM 3."""

from collections.abc import Mapping
from typing import Any

from converters.archs.checkpoint.common import all_biases_agree, decoder_keys, no_windows
from converters.archs.checkpoint.config import Config

NOPE_STEP = 4


def mistral(config: Config, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Without windows, as all but the first one."""
    no_windows(config, 4096)
    return decoder_keys(config, kv_heads=8)


def granite(config: Config, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Four multipliers."""
    all_biases_agree(config, tensors)
    return {
        **decoder_keys(config),
        "embedding_scale": config.number("embedding_multiplier", 1.0),
        "residual_scale": config.number("residual_multiplier", 1.0),
        "attention.scale": config.number("attention_multiplier", 1.0),
        "logit_scale": config.number("logits_scaling", 1.0),
    }


def smollm3(config: Config, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Every fourth layer has no positions."""
    all_biases_agree(config, tensors)
    config.expect("sliding_window", None)
    config.expect("no_rope_layer_interval", NOPE_STEP)
    layers = config.integer("num_hidden_layers")
    config.expect("no_rope_layers", [int((layer + 1) % NOPE_STEP != 0) for layer in range(layers)])
    return decoder_keys(config, kv_heads=4)
