"""`genai_config.json`, `config.json` and `generation_config.json` of a model folder.

onnxruntime-genai 0.18 refuses unknown keys inside `model` and `search`, reads no defaults for the keys written
here, and allocates the cache for `search.max_length` at once.
"""

from typing import Any

from converters.graph.graph import Value
from converters.plan import Plan
from converters.tokenizer.export import TokenizerFiles


def genai_config(plan: Plan, tokens: TokenizerFiles) -> dict[str, Any]:
    """What onnxruntime-genai reads."""
    spec, (heads, kv_heads, head_size) = plan.spec, _head_numbers(plan)
    model = {
        "type": spec.genai_type,
        "context_length": plan.context_length,
        "vocab_size": spec.vocab,
        **_token_ids(tokens),
        "decoder": {
            "filename": "model.onnx",
            "session_options": {
                "log_id": "onnxruntime-genai",
                "provider_options": list(plan.target.provider_options),
            },
            "head_size": head_size,
            "hidden_size": spec.hidden,
            "num_attention_heads": heads,
            "num_key_value_heads": kv_heads,
            "num_hidden_layers": len(_caches(plan)),
            "inputs": {
                "input_ids": "input_ids",
                "attention_mask": "attention_mask",
                "past_key_names": "past_key_values.%d.key",
                "past_value_names": "past_key_values.%d.value",
            },
            "outputs": {
                "logits": "logits",
                "present_key_names": "present.%d.key",
                "present_value_names": "present.%d.value",
            },
        },
    }
    search = {
        "do_sample": False,
        "max_length": plan.context_length,
        "num_beams": 1,
        "past_present_share_buffer": not plan.target.standard,
    }
    return {"model": model, "search": search}


def hugging_face_config(plan: Plan, tokens: TokenizerFiles) -> dict[str, Any]:
    """`config.json` for tools that look for one; numbers under Hugging Face's names."""
    spec, (heads, kv_heads, head_size) = plan.spec, _head_numbers(plan)
    rope = spec.attention.rope
    return {
        "model_type": spec.genai_type,
        "hidden_size": spec.hidden,
        "intermediate_size": spec.layers[0].feed_forward.width,
        "num_hidden_layers": len(spec.layers),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_size,
        "vocab_size": spec.vocab,
        "max_position_embeddings": plan.context_length,
        "rms_norm_eps" if spec.norm.kind == "rms" else "layer_norm_eps": spec.norm.epsilon,
        "rope_theta": rope.theta if rope else None,
        "tie_word_embeddings": spec.tied_head,
        "use_cache": True,
        **_token_ids(tokens),
        "transformers.js_config": {"use_external_data_format": True},
    }


def _caches(plan: Plan) -> list[Value]:
    """Key caches of the graph, one per layer that attends."""
    return [value for value in plan.graph.inputs if value.name.endswith(".key")]


def _head_numbers(plan: Plan) -> tuple[int, int, int]:
    """Heads, key/value heads and stored channels of the first layer that attends."""
    shape = _caches(plan)[0].shape
    assert shape is not None
    return plan.spec.attention.heads, int(shape[1]), int(shape[3])


def generation_config(tokens: TokenizerFiles) -> dict[str, Any]:
    """`generation_config.json`: greedy, with every id that ends a turn, and those that must never be generated."""
    suppressed = {"suppress_tokens": list(tokens.suppress_token_ids)} if tokens.suppress_token_ids else {}
    return {"do_sample": False, **_token_ids(tokens), **suppressed}


def _token_ids(tokens: TokenizerFiles) -> dict[str, Any]:
    stops = list(tokens.eos_token_ids)
    found = {
        "bos_token_id": tokens.bos_token_id,
        "eos_token_id": stops[0] if len(stops) == 1 else stops or None,
        "pad_token_id": tokens.pad_token_id if tokens.pad_token_id is not None else (stops[0] if stops else None),
    }
    return {key: value for key, value in found.items() if value is not None}
