"""What transformers calls an architecture, and what it calls the numbers that every model has."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from converters.spec import Attention, ModelSpec


@dataclass(frozen=True)
class HuggingFace:
    """A class of transformers, and where its configuration differs from most.

    Attributes:
        model_type: its name in `config.json`.
        model_class: the class that runs such models.
        names: our names of numbers to the class' own; None where it has no such key.
        values: keys that only this class has.
        scalings: kinds of rotary embeddings that it knows by name, also before version 5 of transformers.
        partial: heads may turn in part, and the class assumes that they do.
        rope_by_layer_type: it has a rotary embedding for each type of layer.
        rope_divisors: it takes divisors of frequencies as a list.
        rope_values: what it also wants to be told beside rotary embeddings.
        optimum: what it reads for the shape of a cache, in place of the numbers of query heads and of hidden channels:
            "kv_heads", "head_dim"; None where the version of transformers that it needs lacks the class.
        transformers_js: transformers.js knows how many layers such a model has.
    """

    model_type: str
    model_class: str
    names: Mapping[str, str | None] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    scalings: tuple[str, ...] = ("linear", "yarn", "longrope")
    partial: bool = False
    rope_by_layer_type: bool = False
    rope_divisors: bool = True
    rope_values: Mapping[str, Any] = field(default_factory=dict)
    optimum: tuple[str, ...] | None = ()
    transformers_js: bool = True


# The class for a model with these numbers and tensors; None where transformers has none for it.
Choose = Callable[[ModelSpec, Container[str]], HuggingFace | None]

LOCAL, GLOBAL = "sliding_attention", "full_attention"  # types of layers
GPT2_NAMES: Mapping[str, str | None] = {
    "hidden_size": "n_embd", "intermediate_size": "n_inner", "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head", "max_position_embeddings": "n_positions", "hidden_act": "activation_function",
    "layer_norm_eps": "layer_norm_epsilon", "head_dim": None, "attention_bias": None, "mlp_bias": None,
}  # fmt: skip


def windows(spec: ModelSpec) -> dict[str, Any]:
    """How far layers see, for classes whose layers differ."""
    seen = [mixer.window for mixer in spec.modules() if isinstance(mixer, Attention)]
    return {
        "sliding_window": next((window for window in seen if window), None),
        "layer_types": [LOCAL if window else GLOBAL for window in seen],
    }


def softcaps(spec: ModelSpec) -> dict[str, Any]:
    """Of attention and of the logits, for classes that have both."""
    mixer = spec.attention
    return {
        "attn_logit_softcapping": (mixer.softcap if isinstance(mixer, Attention) else 0.0) or None,
        "final_logit_softcapping": spec.final_softcap or None,
    }
