"""The config.json of Phi 3 and 4: fused matrices, partly turned heads."""

from collections.abc import Mapping
from typing import Any

from converters.archs.checkpoint.common import decoder_keys
from converters.archs.checkpoint.config import Config
from converters.archs.checkpoint.rope import rope_keys


def phi3(config: Config, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Without windows and LongRoPE."""
    if (window := config.raw("sliding_window", None)) is not None:
        raise config.wrong("sliding_window", window, "null")
    for key in ("embd_pdrop", "resid_pdrop", "original_max_position_embeddings"):
        config.get(key)  # of training, and of LongRoPE
    config.expect("attention_bias", False)
    keys = decoder_keys(config)
    dim = keys["attention.key_length"]
    turned = int(dim * config.number("partial_rotary_factor", 1.0))
    return {**keys, **rope_keys(config, turned), "rope.dimension_count": turned}
