"""The config.json of Qwen's mixtures of experts."""

from collections.abc import Mapping
from typing import Any

from converters.archs.checkpoint.common import ATTENTION_BIASES, biases_agree, decoder_keys, expert_keys
from converters.archs.checkpoint.config import Config


def qwen2_moe(config: Config, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Biases of q, k and v, which no key names in older folders; the weights of a token's experts are as they are."""
    config.get("qkv_bias")
    config.expect("norm_topk_prob", False)
    keys = decoder_keys(config, kv_heads=16)
    shared = config.integer("shared_expert_intermediate_size", 5632)
    return {**keys, **expert_keys(config, 1408), "expert_shared_feed_forward_length": shared}


def qwen3_moe(config: Config, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The weights of a token's experts add up to one, which is not the class's default."""
    biases_agree(config, "attention_bias", ATTENTION_BIASES, tensors)
    config.expect("norm_topk_prob", True, False)
    return {**decoder_keys(config, kv_heads=4), **expert_keys(config, 768)}
