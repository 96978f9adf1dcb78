"""Llama's config.json."""

from collections.abc import Mapping
from typing import Any

from converters.archs.checkpoint.common import ATTENTION_BIASES, biases_agree, decoder_keys
from converters.archs.checkpoint.config import Config


def llama(config: Config, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Biases where it says so."""
    biases_agree(config, "attention_bias", ATTENTION_BIASES, tensors)
    biases_agree(config, "mlp_bias", ("gate_proj.bias", "up_proj.bias", "down_proj.bias"), tensors)
    config.expect("sliding_window", None)
    return decoder_keys(config)
