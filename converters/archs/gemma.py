"""Gemma 3: sandwich norms, q/k norms, five local layers to each global one."""

from dataclasses import replace

from converters.archs.common import attention, decoder, head_dim, rope
from converters.archs.registry import architecture
from converters.hparams import Hparams
from converters.spec import Attention, ModelSpec

PERIOD = 6  # every sixth layer is global; files need not say it
LOCAL_THETA = 10000.0  # rotary base of local layers; files need not say it
LAYERS_27B = 62  # the one size that scales attention by hidden / heads


@architecture("gemma3", "Gemma 3, text")
def gemma3(h: Hparams) -> ModelSpec:
    """GELU-gated; embeddings times sqrt(hidden); norms hold 1 + w already."""
    hidden, window = h.positive("embedding_length"), h.positive("attention.sliding_window")
    everywhere = rope(h)
    nearby = replace(everywhere, theta=h.number("rope.freq_base_swa", LOCAL_THETA), scaling=None)
    dim = hidden // h.positive("attention.head_count") if h.integer("block_count") == LAYERS_27B else head_dim(h)

    def mixer(i: int) -> Attention:
        local = (i + 1) % PERIOD != 0
        return attention(
            h,
            nearby if local else everywhere,
            window=window if local else None,
            qk_norm=True,
            scale=dim**-0.5,
        )

    return decoder(
        h,
        mixer=mixer,
        activation="gelu_tanh",
        genai_type="gemma3_text",
        post_norms=True,
        embedding_scale=hidden**0.5,
        final_softcap=h.number("final_logit_softcapping", 0.0),
    )
