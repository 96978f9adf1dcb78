"""Nanbeige: Llama whose layers run several times, each time with a cache of their own."""

from dataclasses import replace

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec
from repack.errors import MobiusError

MOST_LAYERS = 512  # llama.cpp's limit, counted over all loops


@architecture("nanbeige", "Nanbeige 4.2")
def nanbeige(h: Hparams) -> ModelSpec:
    """The final norm also stands between two loops, unless the file says otherwise."""
    once = stack(h, attention(h, rope(h, head_dim(h), interleaved=True, partial=True, freqs=True)), gated_mlp(h))
    loops = h.positive("num_loops", 1)
    if loops * len(once) > MOST_LAYERS:
        raise MobiusError(f"nanbeige.num_loops is {loops}: {loops * len(once)} layers", f"at most {MOST_LAYERS} run")
    closing = None if h.flag("skip_loop_final_norm", False) else "output_norm"
    inner = (*once[:-1], replace(once[-1], closing_norm=closing))
    return decoder(h, inner * (loops - 1) + once, rms_norm(h), mlp_scales=True)
