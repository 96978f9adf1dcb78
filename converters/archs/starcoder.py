"""StarCoder 1 and 2: as GPT-2, the second with rotary instead of learned positions."""

from collections.abc import Container

from converters.archs.common import attention, head_dim
from converters.archs.gpt2 import gpt2_like
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import GPT2_NAMES, HuggingFace
from converters.archs.nope import nope
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec

HF2 = HuggingFace(
    "starcoder2",
    "Starcoder2ForCausalLM",
    {"layer_norm_eps": "norm_epsilon", "attention_bias": "use_bias", "mlp_bias": None},
)


def hugging_face(spec: ModelSpec, tensors: Container[str]) -> HuggingFace:
    """One key/value head is what the class assumes.

    If it is told so, transformers.js looks for keys and values in one array.
    """
    single = spec.attention is not None and spec.attention.kv_heads == 1
    return HuggingFace(
        "gpt_bigcode",
        "GPTBigCodeForCausalLM",
        GPT2_NAMES,
        {} if single else {"multi_query": False},
        optimum=("kv_heads",),
    )


@architecture("starcoder", "StarCoder, SantaCoder, Granite Code 20B and 34B", hugging_face)
def starcoder(h: Hparams) -> ModelSpec:
    """Learned positions; one key/value head."""
    return gpt2_like(h, nope(h), learned_positions=True)


@architecture("starcoder2", "StarCoder 2", HF2)
def starcoder2(h: Hparams) -> ModelSpec:
    """Whole heads rotated, split-half pairs; windows are not read."""
    return gpt2_like(h, attention(h, rope(h, head_dim(h))))
