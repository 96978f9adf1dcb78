"""EXAONE 3 (Llama with split-half rotary pairs), EXAONE 4 (norms behind the blocks, local layers at 32B), K-EXAONE."""

from collections.abc import Container

from converters.archs.common import attention, decoder, gated_mlp, head_dim, layer_count, local_layers, rms_norm
from converters.archs.experts import EXPERT_SCALES, SHARED_SCALES, dense_layers, experts, scores, shared_expert
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace, windows
from converters.archs.layers import POST_NORM, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, HeadNorm, ModelSpec, Module

LOCAL_LAYERS = 64  # 32B: the one size with local layers, whatever keys others have
WINDOW = 4096  # unless the file says otherwise
PERIOD = 4  # every fourth layer is global, unless the file says otherwise
HF = HuggingFace(
    "exaone",
    "LlamaForCausalLM",
    {
        "num_hidden_layers": "num_layers",
        "rms_norm_eps": "layer_norm_epsilon",
        "hidden_act": "activation_function",
    },
    optimum=None,
)


def hugging_face4(spec: ModelSpec, tensors: Container[str]) -> HuggingFace:
    """With its windows; where there are some, layers without one have no positions there either."""
    return HuggingFace("exaone4", "Exaone4ForCausalLM", values=windows(spec), transformers_js=False)


@architecture("exaone", "EXAONE 3, EXAONE 3.5", HF)
def exaone(h: Hparams) -> ModelSpec:
    """SiLU-gated, RMS norms, split-half rotary pairs, Llama 3.1 frequency factors."""
    mixer = attention(h, rope(h, head_dim(h), freqs=True))
    return decoder(h, stack(h, mixer, gated_mlp(h)), rms_norm(h))


@architecture("exaone4", "EXAONE 4", hugging_face4)
def exaone4(h: Hparams) -> ModelSpec:
    """NormNames behind the blocks only, q/k norms; where there are local layers, global ones are NoPE."""
    h.ignore("rope.freq_base_swa")
    rotary = rope(h, head_dim(h), freqs=True)
    hybrid = layer_count(h) == LOCAL_LAYERS
    window = h.positive("attention.sliding_window", WINDOW) if hybrid else None
    local = local_layers(h, PERIOD) if hybrid else [False] * layer_count(h)

    def mixer(i: int) -> Attention:
        turns = local[i] or not hybrid
        return attention(h, rotary if turns else None, window=window if local[i] else None, qk_norm=HeadNorm())

    return decoder(h, stack(h, mixer, gated_mlp(h), POST_NORM), rms_norm(h))


@architecture("exaone-moe", "K-EXAONE")
def exaone_moe(h: Hparams) -> ModelSpec:
    """Norms before the blocks; global layers have no positions; experts, and a shared one, behind dense layers."""
    h.ignore("rope.freq_base_swa", "expert_shared_count")
    rotary, window = rope(h, head_dim(h), freqs=True), h.positive("attention.sliding_window")
    local, first, width = local_layers(h, PERIOD), dense_layers(h), h.positive("expert_feed_forward_length")

    def mixer(i: int) -> Attention:
        turned, span = (rotary, window) if local[i] else (None, None)
        return attention(h, turned, window=span, qk_norm=HeadNorm())

    mixture = experts(
        h,
        width,
        layer=first,
        scores=scores(h),
        normalize=h.flag("expert_weights_norm", False),
        scale=h.number("expert_weights_scale", 0.0),
        shared=shared_expert(h.integer("expert_shared_feed_forward_length", 0) or width),
    )

    def mlp(i: int) -> Module:
        return mixture if i >= first else gated_mlp(h, layer=i)

    return decoder(h, stack(h, mixer, mlp), rms_norm(h), ignored=EXPERT_SCALES + SHARED_SCALES)
