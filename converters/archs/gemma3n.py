"""Gemma 3n: several residual streams, low-rank residuals, sparse gates, per-layer embeddings, caches that others read.

Its sizes are those that llama.cpp has for it, whatever a file says of them: a file that says otherwise is refused.
"""

from collections.abc import Container
from dataclasses import replace
from typing import Any

from converters.archs.common import attention, decoder, gated_mlp, head_dim, layer_count, local_layers, rms_norm
from converters.archs.gemma4 import per_layer_embedding, shared_cache, unread_caches
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace, windows
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import (
    CORRECTED,
    LAYER_INPUT,
    Attention,
    Block,
    HeadNorm,
    Laurel,
    Layer,
    Mlp,
    ModelSpec,
    PerLayerInput,
    Streams,
)
from repack.errors import MobiusError

PERIOD = 5  # every fifth layer is global, unless the file says otherwise
LOCAL_THETA = 10000.0  # rotary base of local layers, unless the file says otherwise
OWNERS = 20  # layers with keys and values of their own, the first ones
SPARSE_LAYERS = 10  # layers with sparse gates, the first ones
SPARSITY = 1.6448533535003662  # standard deviations, above which a normal distribution has one twentieth
STREAMS, RANK, WIDTH = 4, 64, 256  # residual streams, channels of low-rank residuals and of per-layer embeddings
FINAL_SOFTCAP = 30.0
ACTIVATION = "gelu_tanh"


def hugging_face(spec: ModelSpec, tensors: Container[str]) -> HuggingFace:
    """Its class counts all layers, also those without a cache: what makes caches by their number has too many."""
    mixers = [module for module in spec.modules() if isinstance(module, Attention)]
    sparse = [module.sparsity is not None for module in spec.modules() if isinstance(module, Mlp)]
    values = {
        **windows(spec),
        "altup_active_idx": 0,
        "altup_num_inputs": STREAMS,
        "altup_correct_scale": True,
        "laurel_rank": RANK,
        "hidden_size_per_layer_input": WIDTH,
        "vocab_size_per_layer_input": spec.vocab,
        "num_kv_shared_layers": sum(mixer.cache_of is not None for mixer in mixers),
        "activation_sparsity_pattern": [0.95 if found else 0.0 for found in sparse],
        "final_logit_softcapping": spec.final_softcap,
    }
    names = {"hidden_act": "hidden_activation"}
    return HuggingFace(
        "gemma3n_text",
        "Gemma3nForCausalLM",
        names,
        values,
        rope_by_layer_type=True,
        optimum=None,
        transformers_js=False,
    )


@architecture("gemma3n", "Gemma 3n, text", hugging_face)
def gemma3n(h: Hparams) -> ModelSpec:
    """Sandwich norms, norms on q, k and v, no attention scale; norms hold the weight itself."""
    _check_sizes(h)
    hidden, layers = h.positive("embedding_length"), _layers(h)
    # llama.cpp uses neither where keys and values are another layer's.
    unused = tuple(f"blk.{i}.attn_q.{extra}" for i in range(OWNERS, layer_count(h)) for extra in ("bias", "scale"))
    return decoder(
        h,
        layers,
        rms_norm(h),
        embedding_scale=hidden**0.5,
        per_layer=per_layer_embedding(hidden, WIDTH),
        streams=Streams(STREAMS),
        final_softcap=FINAL_SOFTCAP,
        ignored=(*unread_caches(layers), *unused),
        wide_residual=True,
    )


def _layers(h: Hparams) -> tuple[Layer, ...]:
    count, window = layer_count(h), h.positive("attention.sliding_window")
    local = local_layers(h, PERIOD)
    owners = shared_cache(h, local, max(0, count - OWNERS))
    whole = rope(h, head_dim(h), partial=True)
    turned = replace(whole, theta=h.number("rope.freq_base_swa", LOCAL_THETA), scaling=None)
    mixer = attention(h, whole, scale=1.0, qk_norm=HeadNorm(), value_norm=True)

    def own(i: int) -> Attention:
        seen: dict[str, Any] = {"rope": turned, "window": window} if local[i] else {}
        return replace(mixer, cache_of=owners[i], **seen)

    return tuple(_layer(h, i, own(i)) for i in range(count))


def _layer(h: Hparams, i: int, mixer: Attention) -> Layer:
    """Attention and the low-rank residual side by side, a feed-forward, and the layer's own embedding behind them."""
    gates = gated_mlp(h, ACTIVATION, layer=i, sparsity=SPARSITY if i < SPARSE_LAYERS else None)
    return Layer(
        i,
        (
            Block(mixer, "attn_norm", "post_attention_norm"),
            Block(Laurel(RANK), "attn_norm", reads=LAYER_INPUT, stream_scale=2**-0.5),
            Block(gates, "ffn_norm", "post_ffw_norm"),
            Block(PerLayerInput(ACTIVATION), None, "post_norm", reads=CORRECTED),
        ),
    )


def _check_sizes(h: Hparams) -> None:
    """Refuse a file that asks for other sizes than those which llama.cpp has for this architecture.

    Raises:
        MobiusError: it does.
    """
    count = layer_count(h)
    fixed = {
        "altup.num_inputs": STREAMS,
        "altup.active_idx": 0,
        "embedding_length_per_layer_input": WIDTH,
        "attention.shared_kv_layers": max(0, count - OWNERS),
        "final_logit_softcapping": FINAL_SOFTCAP,
    }
    for key, value in fixed.items():
        if (found := h.raw(key)) is not None and found != value:
            raise _unusual(h, key, found, value)
    given = h.raw("activation_sparsity_scale")
    if given is None:
        return
    # Where all gates are open, files have minus infinity.
    wanted = [SPARSITY if i < SPARSE_LAYERS else float("-inf") for i in range(count)]
    if len(given) < count or any(abs(a - b) > 1e-4 for a, b in zip(given, wanted, strict=False) if a != b):
        raise _unusual(h, "activation_sparsity_scale", list(given), f"{SPARSITY} in the first {SPARSE_LAYERS} layers")


def _unusual(h: Hparams, key: str, found: object, wanted: object) -> MobiusError:
    return MobiusError(
        f"{h.architecture}.{key} is {str(found)[:60]}, not {wanted}",
        "llama.cpp has one such number for all files of this architecture",
    )
