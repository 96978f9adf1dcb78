"""What a config.json says of the form of its weights: plain floats, one method of the table, or a refusal by name."""

from collections.abc import Mapping
from typing import Any

from converters.sources.checkpoint.entries import Found, Method, Tensors, contradiction
from converters.sources.checkpoint.methods.auto_round import AUTO_ROUND
from converters.sources.checkpoint.methods.awq import AWQ
from converters.sources.checkpoint.methods.compressed_tensors import COMPRESSED_TENSORS
from converters.sources.checkpoint.methods.ct_fp4 import CT_FP4
from converters.sources.checkpoint.methods.gptq import GPTQ
from converters.sources.checkpoint.methods.mlx import MLX
from converters.sources.checkpoint.safetensors import Entry
from repack.errors import MobiusError

METHODS: tuple[Method, ...] = (CT_FP4, COMPRESSED_TENSORS, AWQ, GPTQ, AUTO_ROUND, MLX)
# Files in which older programs left what is a quantization_config today, without the method's name.
SIDE_FILES = {"quantize_config.json": "gptq", "quant_config.json": "awq"}


def gather_modules(
    tensors: Tensors, config: Mapping[str, Any], beside: Mapping[str, Mapping[str, Any]] | None = None
) -> Found:
    """Plain tensors as they are, quantized ones as `NAME.weight`; `beside`: what side files have, by their names.

    Raises:
        MobiusError: a method that cannot be read, or tensors that are not as the configuration says.
    """
    given = config.get("quantization_config") or config.get("compression_config") or config.get("quantization")
    for name, method_name in SIDE_FILES.items():
        if not given and (old := (beside or {}).get(name)):
            given = {**_renamed(old), "quant_method": method_name}
    if not given:
        endings = tuple(ending for method in METHODS for ending in method.endings)
        if packed := [name for name in tensors if name.endswith(endings)]:
            raise contradiction(f"config.json names no method of quantization, but {len(packed)} tensors are packed")
        return dict(tensors)
    for method in METHODS:
        if method.claims(given, tensors):
            found = method.gather(given, tensors)
            if all(isinstance(entry, Entry) for entry in found.values()):
                raise contradiction(f"config.json names {method.name}, but 0 tensors are packed")
            return found
    named = given.get("quant_method") or ("MLX" if "mode" in given or "quantization" in config else None)
    known = ", ".join(dict.fromkeys(method.name for method in METHODS))
    raise MobiusError(
        f"weights quantized by {named or 'a method without a name'} cannot be read yet",
        f"supported: {known}, plain weights; or convert a GGUF of the model",
    )


def _renamed(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """AutoAWQ's own file has other names."""
    names = {"w_bit": "bits", "q_group_size": "group_size"}
    return {names.get(key, key): value for key, value in given.items()}
