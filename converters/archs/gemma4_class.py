"""Gemma 4 in the words of transformers, whose class knows two kinds of layers and no others."""

from collections.abc import Container, Sequence
from typing import Any

from converters.archs.hugging_face import HuggingFace, windows
from converters.spec import Attention, Experts, Mlp, ModelSpec

# Rotary embeddings as version 4 of transformers spells them: it has no such class, and the class trips over them.
OLD_WORDS = dict.fromkeys(("rope_theta", "rope_scaling", "rope_local_base_freq", "partial_rotary_factor"))


def hugging_face(spec: ModelSpec, tensors: Container[str]) -> HuggingFace | None:
    """The class, where layers of a kind are alike, the last one is global, and all layers have experts or none."""
    mixers = [module for module in spec.modules() if isinstance(module, Attention)]
    local, whole = ([m for m in mixers if (m.window is not None) == near] for near in (True, False))
    double, mixed = _doubled(spec, mixers), _experts(spec)
    if not (_alike(local) and _alike(whole)) or mixers[-1].window is not None or double is None or mixed is None:
        return None
    first, last = mixers[0] if not local else local[0], whole[-1]
    as_values = any(mixer.keys_as_values for mixer in whole)
    if any(m.keys_as_values for m in local) or (last.kv_heads != first.kv_heads and not as_values):
        return None
    values: dict[str, Any] = {
        **{key: value for key, value in windows(spec).items() if value is not None},
        "num_key_value_heads": first.kv_heads,
        "head_dim": first.head_dim,
        "num_global_key_value_heads": last.kv_heads,
        "global_head_dim": last.head_dim,
        "attention_k_eq_v": as_values,
        "num_kv_shared_layers": sum(mixer.cache_of is not None for mixer in mixers),
        "use_double_wide_mlp": double,
        "hidden_size_per_layer_input": spec.per_layer.width if spec.per_layer else 0,
        "vocab_size_per_layer_input": spec.vocab,
        "final_logit_softcapping": spec.final_softcap or None,
        **mixed,
    }
    return HuggingFace(
        "gemma4_text",
        "Gemma4ForCausalLM",
        {"hidden_act": "hidden_activation", "mlp_bias": None, **OLD_WORDS},
        values,
        scalings=("proportional", "linear"),
        rope_by_layer_type=True,
        rope_divisors=False,
        optimum=None,
        transformers_js=False,
    )


def _alike(mixers: Sequence[Attention]) -> bool:
    """Whether layers of a kind differ in nothing, and turn whole heads."""
    own = {(m.heads, m.kv_heads, m.head_dim, m.window, m.rope, m.keys_as_values) for m in mixers if m.cache_of is None}
    return len(own) <= 1 and all(mixer.rope is None or mixer.rope.dim == mixer.head_dim for mixer in mixers)


def _doubled(spec: ModelSpec, mixers: Sequence[Attention]) -> bool | None:
    """Whether feed-forwards of layers without a cache are twice as wide; None where widths differ otherwise."""
    widths = [module.width for module in spec.modules() if isinstance(module, Mlp)]
    factors = {width / widths[0] for width, mixer in zip(widths, mixers, strict=True) if mixer.cache_of is not None}
    usual = {width for width, mixer in zip(widths, mixers, strict=True) if mixer.cache_of is None}
    return factors == {2.0} if len(usual) == 1 and factors in (set(), {1.0}, {2.0}) else None


def _experts(spec: ModelSpec) -> dict[str, Any] | None:
    """Their numbers in the class' words; None where some layers have none, or others."""
    found = [m for m in spec.modules() if isinstance(m, Experts)]
    numbers = {(m.count, m.used, m.width) for m in found}
    if len(numbers) > 1 or len(found) not in (0, len(spec.layers)):
        return None
    values = numbers.pop() if numbers else (None, None, None)
    names = ("num_experts", "top_k_experts", "moe_intermediate_size")
    return {**dict(zip(names, values, strict=True)), "enable_moe_block": bool(found)}
