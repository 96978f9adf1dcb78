"""Qwen 2's config.json."""

from collections.abc import Mapping
from typing import Any

from converters.archs.checkpoint.common import decoder_keys
from converters.archs.checkpoint.config import Config


def qwen2(config: Config, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The class always has biases for q, k and v: without them in the folder it would make some up."""
    if not any(name.endswith("q_proj.bias") for name in tensors):
        raise config.wrong("model_type", "qwen2 without biases of q, k and v", "qwen2 with them")
    config.get("attention_bias")  # the class does not read it
    return decoder_keys(config, kv_heads=32)
