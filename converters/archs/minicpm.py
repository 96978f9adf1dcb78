"""MiniCPM 1 and 4: as Granite, with multipliers that the first files do not name."""

from converters.archs.common import attention, head_dim, layer_count
from converters.archs.granite import scaled_llama
from converters.archs.hparams import Hparams
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec

# What files that lack the keys mean.
EMBEDDING_SCALE, DEPTH_SCALE, BASE_WIDTH = 12.0, 1.4, 256.0


@architecture("minicpm", "MiniCPM 1, MiniCPM 4")
def minicpm(h: Hparams) -> ModelSpec:
    """Multipliers of 12, 1.4 / sqrt(layers) and 256 / hidden unless the file has them; it divides by the last."""
    return scaled_llama(
        h,
        attention(h, rope(h, head_dim(h), interleaved=True, freqs=True, long_factors=True)),
        h.number("embedding_scale", EMBEDDING_SCALE),
        h.number("residual_scale", DEPTH_SCALE / layer_count(h) ** 0.5),
        # llama.cpp divides by this default too, though the keys that converters write hold its reciprocal.
        h.number("logit_scale", BASE_WIDTH / h.positive("embedding_length")),
    )
