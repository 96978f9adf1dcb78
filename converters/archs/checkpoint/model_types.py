"""From a config.json to GGUF's metadata, by its `model_type`; a file beside this one for each."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.archs.checkpoint.config import Config
from converters.archs.checkpoint.llama import llama
from converters.archs.checkpoint.mixtral import mixtral
from converters.archs.checkpoint.qwen2 import qwen2
from converters.archs.checkpoint.qwen3 import qwen3
from converters.archs.checkpoint.qwen_moe import qwen2_moe, qwen3_moe
from converters.archs.checkpoint.rope import FREQS
from converters.archs.checkpoint.scaled_llama import granite, mistral, smollm3
from repack.errors import MobiusError

F32 = npt.NDArray[np.float32]
Read = Callable[[Config, Mapping[str, Any]], dict[str, Any]]
# model_type: architecture of GGUF files, and how the configuration is read; tensors are under Hugging Face's names.
MODEL_TYPES: dict[str, tuple[str, Read]] = {
    "llama": ("llama", llama),
    "mistral": ("llama", mistral),
    "granite": ("granite", granite),
    "smollm3": ("smollm3", smollm3),
    "qwen2": ("qwen2", qwen2),
    "qwen3": ("qwen3", qwen3),
    "mixtral": ("llama", mixtral),
    "qwen2_moe": ("qwen2moe", qwen2_moe),
    "qwen3_moe": ("qwen3moe", qwen3_moe),
}


def described(values: Mapping[str, Any], tensors: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, F32]]:
    """Metadata under GGUF's keys, and the tensors that GGUF files have for what folders say in numbers.

    Raises:
        MobiusError: the type of model, or something in its configuration, is not supported.
    """
    kind = values.get("model_type")
    if kind not in MODEL_TYPES:
        raise MobiusError(
            f"config.json: model_type {kind!r} cannot be read from a folder yet",
            f"supported: {', '.join(MODEL_TYPES)}; or convert a GGUF of the model",
        )
    if "auto_map" in values:
        raise MobiusError("config.json: auto_map asks for code of the model's own", "convert a GGUF of the model")
    architecture, read = MODEL_TYPES[kind]
    config = Config(values)
    keys = read(config, tensors)
    tied = bool(config.get("tie_word_embeddings", False))
    if tied == ("lm_head.weight" in tensors):
        raise MobiusError(
            f"config.json: tie_word_embeddings is {str(tied).lower()}, but lm_head is {'' if tied else 'not '}there",
            "the configuration and the tensors contradict each other",
        )
    config.check_all_read()
    made = {key: keys.pop(key) for key in (FREQS,) if key in keys}
    return {"general.architecture": architecture, **{f"{architecture}.{key}": keys[key] for key in keys}}, made
