"""DeepSeek 1 and the text model of DeepSeek OCR: ordinary attention, mixtures with shared experts."""

from dataclasses import replace

from converters.archs.common import attention, decoder, head_dim, rms_norm
from converters.archs.deepseek2 import attention_scale
from converters.archs.dense_first import dense_first
from converters.archs.experts import EXPERT_SCALES, SHARED_SCALES, scores
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import SOFTMAX, ModelSpec
from repack.errors import MobiusError

OCR_THETA = 10000.0
OCR_UNUSED = ("blk.*.attn_q.scale", "blk.*.attn_k.scale", "blk.*.attn_v.scale", "output.scale")


@architecture("deepseek", "DeepSeek MoE 16B")
def deepseek(h: Hparams) -> ModelSpec:
    """Interleaved rotary pairs; the weights of a token's experts do not add up to one."""
    mixer = attention(h, rope(h, head_dim(h), interleaved=True))
    return decoder(h, stack(h, mixer, dense_first(h)), rms_norm(h), ignored=(*EXPERT_SCALES, *SHARED_SCALES))


@architecture("deepseek2-ocr", "DeepSeek OCR, text")
def deepseek2_ocr(h: Hparams) -> ModelSpec:
    """Positions are never stretched, though what would stretch them scales attention, as in DeepSeek 2."""
    heads, dim = h.positive("attention.head_count"), head_dim(h)
    keys = rope(h, dim, partial=True)
    mixer = attention(h, replace(keys, dim=dim, scaling=None, magnitude=1.0), scale=attention_scale(keys, dim))
    if keys.theta != OCR_THETA or (mixer.kv_heads, dim * heads) != (heads, h.positive("embedding_length")):
        raise MobiusError(
            f"{h.architecture} needs rope.freq_base {OCR_THETA:g}, and as many key/value heads as heads, which fill the"
            " embedding",
            "the metadata is damaged or unusual",
        )
    mlp = dense_first(h, scores=scores(h, SOFTMAX), normalize=h.flag("expert_weights_norm", False))
    unused = (*EXPERT_SCALES, *SHARED_SCALES, *OCR_UNUSED)
    return decoder(h, stack(h, mixer, mlp), rms_norm(h), ignored=unused)
