"""Qwen 3's config.json, dense models."""

from collections.abc import Mapping
from typing import Any

from converters.archs.checkpoint.common import ATTENTION_BIASES, biases_agree, decoder_keys
from converters.archs.checkpoint.config import Config


def qwen3(config: Config, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Heads have 128 channels where nothing is said."""
    biases_agree(config, "attention_bias", ATTENTION_BIASES, tensors)
    return decoder_keys(config, kv_heads=32, head_dim=128)
