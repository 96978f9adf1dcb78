"""Mixtral's config.json."""

from collections.abc import Mapping
from typing import Any

from converters.archs.checkpoint.common import decoder_keys
from converters.archs.checkpoint.config import Config


def mixtral(config: Config, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Llama with experts."""
    config.expect("sliding_window", None)
    config.get("router_jitter_noise")  # of training
    count, used = config.integer("num_local_experts", 8), config.integer("num_experts_per_tok", 2)
    return {**decoder_keys(config, kv_heads=8), "expert_count": count, "expert_used_count": used}
