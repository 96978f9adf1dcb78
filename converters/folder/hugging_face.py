"""`config.json` under the names of transformers' own classes; the same keys where it has no class for a model."""

from typing import Any

import numpy as np

from converters.archs.hugging_face import HuggingFace
from converters.archs.registry import find
from converters.folder.configs import token_ids
from converters.folder.rope_parameters import has_words, rope_values
from converters.plan import Plan
from converters.spec import Attention, LatentAttention, ModelSpec
from converters.tokenizer.export import TokenizerFiles

ACTIVATIONS = {"silu": "silu", "gelu_tanh": "gelu_pytorch_tanh", "relu": "relu", "relu_squared": "relu2"}
NORM_EPSILONS = {"rms": "rms_norm_eps", "layer": "layer_norm_eps"}


def hugging_face_config(plan: Plan, tokens: TokenizerFiles) -> dict[str, Any]:
    """`config.json` for tools that look for one.

    Where transformers has a class for the model, all that this class would otherwise assume is said; the context is
    the one that the graph was made for.
    """
    architecture = find(plan.spec.architecture)
    assert architecture is not None
    named = architecture.hugging_face_of(plan.spec, plan.source.tensors)
    numbers = _numbers(plan)
    if named is None or not has_words(plan, named):
        return {
            "model_type": plan.spec.genai_type,
            **numbers,
            "rope_theta": _first_theta(plan.spec),
            **token_ids(tokens),
            "transformers.js_config": transformers_js_config(plan),
        }
    values = {**numbers, **_switches(plan), **rope_values(plan, named), **named.values}
    return {
        "architectures": [named.model_class],
        "model_type": named.model_type,
        **{key: _shortest(value) for key, value in _renamed(values, named).items()},
        **dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id")),  # null: a class has ids of its own
        **token_ids(tokens),
        "transformers.js_config": transformers_js_config(plan),
    }


def transformers_js_config(plan: Plan) -> dict[str, Any]:
    """What transformers.js is told: by which type it finds the graph, and that weights stand beside it."""
    return {"dtype": plan.files.js_dtype, "use_external_data_format": True}


def _numbers(plan: Plan) -> dict[str, Any]:
    """What every model has, under the names that most classes use."""
    spec, mixer = plan.spec, plan.spec.attention
    return {
        "hidden_size": spec.hidden,
        "intermediate_size": spec.mlp.width if spec.mlp else None,
        "num_hidden_layers": len(spec.layers),
        "num_attention_heads": mixer.heads if mixer else 0,
        "num_key_value_heads": mixer.kv_heads if mixer else 0,
        "head_dim": mixer.head_dim if mixer else 0,
        "vocab_size": spec.vocab,
        "max_position_embeddings": plan.context_length,
        NORM_EPSILONS[spec.norm.kind]: spec.norm.epsilon,
        "tie_word_embeddings": spec.tied_head,
        "use_cache": True,
        # transformers 5 and before
        "dtype": plan.target.dtype,
        "torch_dtype": plan.target.dtype,
    }


def _switches(plan: Plan) -> dict[str, Any]:
    """The activation, and whether there are biases."""
    mlp, tensors = plan.spec.mlp, plan.source.tensors
    activation = mlp.activation if mlp else "silu"

    def biased(*names: str) -> bool:
        return any(f"blk.0.{name}.bias" in tensors for name in names)

    return {
        "hidden_act": ACTIVATIONS[activation] if isinstance(activation, str) else type(activation).__name__.lower(),
        "attention_bias": biased("attn_q", "attn_qkv"),
        "mlp_bias": biased("ffn_up"),
    }


def _renamed(values: dict[str, Any], named: HuggingFace) -> dict[str, Any]:
    names = {key: named.names.get(key, key) for key in values}
    return {name: values[key] for key, name in names.items() if name is not None}


def _first_theta(spec: ModelSpec) -> float | None:
    mixer: Attention | LatentAttention | None = spec.attention
    return mixer.rope.theta if mixer and mixer.rope else None


def _shortest(value: Any) -> Any:
    """Numbers as short as float32, in which files have them, allows: 1e-05 in place of 9.999999747378752e-06."""
    if isinstance(value, float):
        short = float(str(np.float32(value)))
        return short if np.isclose(float(np.float32(short)), value, rtol=1e-14, atol=0) else value
    if isinstance(value, dict):
        return {key: _shortest(item) for key, item in value.items()}
    return [_shortest(item) for item in value] if isinstance(value, list) else value
