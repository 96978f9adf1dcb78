"""From a config.json to GGUF's metadata, by its `model_type`; a file beside this one for each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.archs.checkpoint.config import Config
from converters.archs.checkpoint.gemma import gemma2, gemma3_text
from converters.archs.checkpoint.llama import llama
from converters.archs.checkpoint.mixtral import mixtral
from converters.archs.checkpoint.phi3 import phi3
from converters.archs.checkpoint.qwen2 import qwen2
from converters.archs.checkpoint.qwen3 import qwen3
from converters.archs.checkpoint.qwen_moe import qwen2_moe, qwen3_moe
from converters.archs.checkpoint.rope import FREQS
from converters.archs.checkpoint.scaled_llama import granite, mistral, smollm3
from repack.errors import MobiusError

F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ModelType:
    """A `model_type`.

    Attributes:
        architecture: of GGUF files.
        read: the configuration's keys under GGUF's names; tensors are under Hugging Face's.
        tied: whether the head is the embedding where nothing is said.
        plus_one: norms hold what is added to one, which GGUF files have added.
    """

    architecture: str
    read: Callable[[Config, Mapping[str, Any]], dict[str, Any]]
    tied: bool = False
    plus_one: bool = False


@dataclass(frozen=True)
class Description:
    """`metadata` under GGUF's keys; `made`: tensors of GGUF files that folders say in numbers; `plus_one`: as above."""

    metadata: dict[str, Any]
    made: dict[str, F32]
    plus_one: bool


MODEL_TYPES = {
    "llama": ModelType("llama", llama),
    "mistral": ModelType("llama", mistral),
    "granite": ModelType("granite", granite),
    "smollm3": ModelType("smollm3", smollm3, tied=True),
    "qwen2": ModelType("qwen2", qwen2),
    "qwen3": ModelType("qwen3", qwen3),
    "phi3": ModelType("phi3", phi3),
    "gemma2": ModelType("gemma2", gemma2, tied=True, plus_one=True),
    "gemma3_text": ModelType("gemma3", gemma3_text, tied=True, plus_one=True),
    "mixtral": ModelType("llama", mixtral),
    "qwen2_moe": ModelType("qwen2moe", qwen2_moe),
    "qwen3_moe": ModelType("qwen3moe", qwen3_moe),
}


def described(values: Mapping[str, Any], tensors: Mapping[str, Any]) -> Description:
    """What a config.json says beside these tensors.

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
    model, config = MODEL_TYPES[kind], Config(values)
    keys, architecture = model.read(config, tensors), model.architecture
    tied = bool(config.get("tie_word_embeddings", model.tied))
    if tied == ("lm_head.weight" in tensors):
        raise MobiusError(
            f"config.json: tie_word_embeddings is {str(tied).lower()}, but lm_head is {'' if tied else 'not '}there",
            "the configuration and the tensors contradict each other",
        )
    config.check_all_read()
    made = {key: keys.pop(key) for key in (FREQS,) if key in keys}
    metadata = {"general.architecture": architecture, **{f"{architecture}.{key}": keys[key] for key in keys}}
    return Description(metadata, made, model.plus_one)
