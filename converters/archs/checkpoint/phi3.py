"""The config.json of Phi 3 and 4: fused matrices, partly turned heads."""

from collections.abc import Mapping
from typing import Any

from converters.archs.checkpoint.common import decoder_keys, no_windows
from converters.archs.checkpoint.config import Config


def phi3(config: Config, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Without windows and LongRoPE."""
    no_windows(config)
    for key in ("embd_pdrop", "resid_pdrop", "original_max_position_embeddings"):
        config.get(key)  # of training, and of LongRoPE
    config.expect("attention_bias", False)
    turned = config.number("partial_rotary_factor", 1.0)
    keys = decoder_keys(config, turned=turned)
    return {**keys, "rope.dimension_count": int(keys["attention.key_length"] * turned)}
