"""SmallThinker: the router reads the layer's input as it is, before attention; experts gated by a ReLU."""

from dataclasses import replace

from converters.archs.common import attention, decoder, head_dim, layer_count, rms_norm
from converters.archs.experts import EXPERT_SCALES, experts
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import SIGMOID, SOFTMAX, SOFTMAX_OF_CHOSEN, Attention, ModelSpec
from repack.errors import MobiusError

STEP = 4  # layers 0, 4, ... see all, unless the file says otherwise, and have no positions
WINDOW = 4096  # files say how long too, but nobody reads it there
SCORES = {1: SOFTMAX, 2: SIGMOID, 3: SOFTMAX_OF_CHOSEN}


@architecture("smallthinker", "SmallThinker 4B and 21B")
def smallthinker(h: Hparams) -> ModelSpec:
    """A file without a window has positions in every layer."""
    global_rope, windowed = rope(h, head_dim(h)), h.integer("attention.sliding_window", 0) > 0
    local_rope = replace(global_rope, theta=h.number("rope.freq_base_swa", global_rope.theta))
    period, turned = h.integer("attention.sliding_window_pattern", STEP), not windowed or layer_count(h) == STEP

    def mixer(i: int) -> Attention:
        local = windowed and (period == 0 or i % period != 0)
        rotary = local_rope if local else global_rope
        return attention(h, rotary if turned or i % STEP else None, window=WINDOW if local else None)

    kind = h.integer("expert_gating_func")
    if kind not in SCORES:
        raise MobiusError(f"smallthinker.expert_gating_func is {kind}", f"known: {', '.join(map(str, SCORES))}")
    h.raw("feed_forward_length")  # of dense layers, of which there are none
    width = h.positive("expert_feed_forward_length")
    mlp = experts(h, width, "relu", scores=SCORES[kind], normalize=True, reads_layer_input=True)
    return decoder(h, stack(h, mixer, mlp), rms_norm(h), ignored=EXPERT_SCALES)
