"""compressed-tensors, `mxfp4-pack-quantized` and `nvfp4-pack-quantized`, where activations stay floats."""

from collections.abc import Mapping
from typing import Any

from converters.sources.checkpoint.entries import Found, Method, QuantizedEntry, Tensors
from converters.sources.checkpoint.methods.compressed_tensors import (
    NAME,
    PACKED,
    SCALE,
    check_rest,
    check_targets,
    named_by,
)
from converters.sources.checkpoint.methods.fp4 import fp4_entry, global_scale
from converters.sources.checkpoint.methods.integers import gathered
from repack.errors import MobiusError

FORMATS = {"mxfp4-pack-quantized": ("MXFP4", "U8", 32), "nvfp4-pack-quantized": ("NVFP4", "F8_E4M3", 16)}
GLOBAL = ".weight_global_scale"


def _claims(given: Mapping[str, Any], _: Tensors) -> bool:
    return given.get("quant_method") == NAME and given.get("format") in FORMATS


def _gather(given: Mapping[str, Any], tensors: Tensors) -> Found:
    check_rest(given)
    kind, scale_type, size = FORMATS[given["format"]]
    groups, ignored = list((given.get("config_groups") or {}).values()), tuple(given.get("ignore") or ())
    targets = tuple(target for group in groups for target in group.get("targets") or ())
    wanted = {"num_bits": 4, "type": "float", "group_size": size, "dynamic": False, "symmetric": True}
    for group in groups:
        weights = group.get("weights") or {}
        wrong = [key for key, value in wanted.items() if weights.get(key) not in (value, None)]
        if wrong or group.get("input_activations") or group.get("output_activations"):
            key = wrong[0] if wrong else "activations, which are rounded too,"
            raise MobiusError(f"{NAME}: {key} of a group cannot be read", "convert a GGUF of the model instead")

    def make(stem: str) -> QuantizedEntry:
        named_by(stem, targets, ignored)
        return fp4_entry(kind, stem + PACKED, stem + SCALE, tensors, scale_type)

    found = gathered(tensors, PACKED, (SCALE, GLOBAL), make)
    if kind == "NVFP4":
        for stem in [name.removesuffix(PACKED) for name in tensors if name.endswith(PACKED)]:
            if ".experts." in stem:
                raise MobiusError(f"{stem}: experts in NVFP4 cannot be read yet", "convert a GGUF of the model instead")
            found[f"{stem}.scale"] = global_scale(stem + GLOBAL, tensors.get(stem + GLOBAL), divides=True)
    check_targets(found, targets, ignored)
    return found


CT_FP4 = Method(NAME, _claims, (PACKED,), _gather)
