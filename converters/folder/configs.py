"""`genai_config.json` and `generation_config.json` of a model folder.

onnxruntime-genai 0.18 refuses unknown keys inside `model` and `search`, reads no defaults for the keys written
here, and allocates the cache for `search.max_length` at once.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from converters.graph.states import CONVOLUTION, PAST, PRESENT, RECURRENT, State
from converters.plan import Plan
from converters.tokenizer.export import TokenizerFiles


def genai_config(plan: Plan, tokens: TokenizerFiles) -> dict[str, Any]:
    """What onnxruntime-genai reads."""
    spec, states, heads = plan.spec, plan.states, _head_numbers(plan)
    # states without positions it finds by the names that they have
    parts = dict.fromkeys(state.part for state in states if state.position_axis is not None)
    model = {
        "type": spec.genai_type,
        "context_length": plan.context_length,
        "vocab_size": spec.vocab,
        **token_ids(tokens),
        "decoder": {
            "filename": plan.files.model,
            "session_options": {
                "log_id": "onnxruntime-genai",
                "provider_options": list(plan.target.provider_options),
            },
            "head_size": heads.size,
            "hidden_size": spec.hidden,
            "num_attention_heads": heads.heads,
            "num_key_value_heads": heads.kv_heads,
            "num_hidden_layers": len({state.index for state in states}),
            **_layer_types(states),
            "inputs": {
                "input_ids": "input_ids",
                "attention_mask": "attention_mask",
                **{f"past_{part}_names": f"{PAST}.%d.{part}" for part in parts},
            },
            "outputs": {
                "logits": "logits",
                **{f"present_{part}_names": f"{PRESENT}.%d.{part}" for part in parts},
            },
        },
    }
    search = {
        "do_sample": False,
        "max_length": plan.context_length,
        "num_beams": 1,
        "past_present_share_buffer": all(state.in_place for state in states),
    }
    return {"model": model, "search": search}


def _layer_types(states: Sequence[State]) -> dict[str, list[str]]:
    """What each layer keeps, where one keeps a convolution's state and nothing else: then it must be told."""
    kept: dict[int, set[str]] = {}
    for state in states:
        kept.setdefault(state.index, set()).add(state.part)
    if {CONVOLUTION} not in kept.values():
        return {}
    names = {frozenset({CONVOLUTION}): "conv", frozenset({CONVOLUTION, RECURRENT}): "linear_attention"}
    return {"layer_types": [names.get(frozenset(kept[index]), "full_attention") for index in sorted(kept)]}


class _Heads(NamedTuple):
    """Query heads, key/value heads, and channels of a head as they are stored."""

    heads: int
    kv_heads: int
    size: int


def _head_numbers(plan: Plan) -> _Heads:
    """Of the first layer that attends; zeros in a model without attention."""
    cached = next((state.shape for state in plan.states if state.position_axis is not None), None)
    if plan.spec.attention is None or cached is None:
        return _Heads(0, 0, 0)
    _, kv_heads, _, head_size = cached
    return _Heads(plan.spec.attention.heads, int(kv_heads), int(head_size))


def generation_config(tokens: TokenizerFiles) -> dict[str, Any]:
    """`generation_config.json`: greedy, with every id that ends a turn, and those that must never be generated."""
    suppressed = {"suppress_tokens": list(tokens.suppress_token_ids)} if tokens.suppress_token_ids else {}
    return {"do_sample": False, **token_ids(tokens), **suppressed}


def token_ids(tokens: TokenizerFiles) -> dict[str, Any]:
    """The ids that there are; padding is what ends a text where the model has no token for it."""
    stops = list(tokens.eos_token_ids)
    found = {
        "bos_token_id": tokens.bos_token_id,
        "eos_token_id": stops[0] if len(stops) == 1 else stops or None,
        "pad_token_id": tokens.pad_token_id if tokens.pad_token_id is not None else (stops[0] if stops else None),
    }
    return {key: value for key, value in found.items() if value is not None}
