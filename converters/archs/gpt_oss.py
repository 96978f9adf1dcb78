"""gpt-oss: attention sinks, every other layer by a window, experts with biases and a bounded activation."""

from dataclasses import replace

from converters.archs.common import attention, decoder, head_dim, local_layers, rms_norm
from converters.archs.experts import EXPERT_SCALES, experts
from converters.archs.hparams import Hparams
from converters.archs.layers import NormNames, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import SOFTMAX_OF_CHOSEN, Attention, ClampedSwiglu, ModelSpec

PERIOD = 2  # every second layer is global, unless the file says otherwise
ACTIVATION = ClampedSwiglu(alpha=1.702, limit=7.0)


@architecture("gpt-oss", "gpt-oss 20B and 120B")
def gpt_oss(h: Hparams) -> ModelSpec:
    """The products of a token's experts meet in a softmax; biases wherever there is a product. Never tied."""
    window, local = h.positive("attention.sliding_window"), local_layers(h, PERIOD)
    global_rope = rope(h, head_dim(h))
    local_rope = replace(global_rope, theta=h.number("rope.freq_base_swa", global_rope.theta))

    def mixer(i: int) -> Attention:
        rotary, span = (local_rope, window) if local[i] else (global_rope, None)
        return attention(h, rotary, window=span, sinks=True)

    h.raw("feed_forward_length")  # of dense layers, of which there are none
    mlp = experts(h, h.positive("expert_feed_forward_length"), ACTIVATION, scores=SOFTMAX_OF_CHOSEN)
    layers = stack(h, mixer, mlp, NormNames(mlp="post_attention_norm"))
    return decoder(h, layers, rms_norm(h), tied=False, genai_type="gptoss", ignored=EXPERT_SCALES)
