"""Llama's config.json."""

from collections.abc import Mapping
from typing import Any

from converters.archs.checkpoint.common import all_biases_agree, decoder_keys
from converters.archs.checkpoint.config import Config


def llama(config: Config, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Biases where it says so."""
    all_biases_agree(config, tensors)
    config.expect("sliding_window", None)
    return decoder_keys(config)
