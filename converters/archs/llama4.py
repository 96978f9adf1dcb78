"""Llama 4: three layers that see their own chunk of the text, and one without positions that sees all of it."""

from collections.abc import Callable
from dataclasses import replace

from converters.archs.common import attention, decoder, gated_mlp, head_dim, local_layers, rms_norm
from converters.archs.experts import EXPERT_SCALES, experts, shared_expert
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import SIGMOID_OF_CHOSEN, Attention, HeadNorm, ModelSpec, Module, QueryTemperature
from repack.errors import MobiusError

PERIOD, NOPE_STEP = 4, 4  # every fourth layer sees all, unless the file says otherwise, and has no positions
CHUNK = 8192  # files say so too, but nobody reads it there
TEMPERATURE = QueryTemperature(scale=0.1, floor=8192, offset=1)
UNNORMED = 128  # experts of the one model whose q and k are not normed


@architecture("llama4", "Llama 4 Scout and Maverick")
def llama4(h: Hparams) -> ModelSpec:
    """A token's weights, sigmoids that need not add up to one, multiply what its experts read."""
    if h.raw("attention.sliding_window") == 0:
        raise MobiusError(
            "llama4.attention.sliding_window is 0: llama.cpp does not run such a model",
            "report the model to the project",
        )
    local = local_layers(h, PERIOD)
    global_rope = rope(h, head_dim(h), interleaved=True, freqs=True)
    local_rope = replace(global_rope, theta=h.number("rope.freq_base_swa", global_rope.theta))
    norm = None if h.positive("expert_count") == UNNORMED else HeadNorm(after_rope=True, weights=False)

    def mixer(i: int) -> Attention:
        chunk = CHUNK if local[i] else None
        if (i + 1) % NOPE_STEP == 0:
            return attention(h, None, chunk=chunk, temperature=TEMPERATURE)
        return attention(h, local_rope if local[i] else global_rope, chunk=chunk, qk_norm=norm)

    return decoder(h, stack(h, mixer, _feed_forwards(h)), rms_norm(h), ignored=EXPERT_SCALES)


def _feed_forwards(h: Hparams) -> Callable[[int], Module]:
    """Experts in every so many layers, and one that all tokens take; dense ones between them."""
    h.raw("feed_forward_length")  # of dense layers, and there may be none
    step = h.integer("interleave_moe_layer_step")
    width = h.positive("expert_feed_forward_length")
    if step < 1:
        return lambda i: gated_mlp(h, layer=i)
    mixture = experts(
        h, width, layer=step - 1, scores=SIGMOID_OF_CHOSEN, weighs_inputs=True, shared=shared_expert(width)
    )
    return lambda i: gated_mlp(h, layer=i) if (i + 1) % step else mixture
