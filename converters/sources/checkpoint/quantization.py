"""What a config.json says of the form of its weights: plain floats, one method that can be read, or a refusal."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from repack.errors import MobiusError
from repack.packed.compressed_tensors import BITS

METHOD, FORMAT = "compressed-tensors", "pack-quantized"
_HINT = f"supported: {METHOD} {FORMAT}, symmetric, 4 and 8 bits, and plain weights; or convert a GGUF of the model"
# At run time these rotate, round or scale something beside the weights.
_EMPTY = ("kv_cache_scheme", "transform_config", "sparsity_config")


@dataclass(frozen=True)
class Packing:
    """How the quantized matrices are stored; `group` in columns, None for one group in each row."""

    bits: int
    group: int | None


def packing_of(config: Mapping[str, Any]) -> Packing | None:
    """The one packing of a model; None where its weights are plain.

    Raises:
        MobiusError: another method, or a variant that is not supported.
    """
    given = config.get("quantization_config") or config.get("compression_config") or config.get("quantization")
    if not given:
        return None
    method = given.get("quant_method") or ("MLX" if "mode" in given or "quantization" in config else None)
    if method != METHOD:
        raise MobiusError(f"weights quantized by {method or 'a method without a name'} cannot be read yet", _HINT)
    if given.get("format") != FORMAT:
        raise _refused("format", given.get("format"))
    for key in _EMPTY:
        if given.get(key):
            raise _refused(key, given[key])
    groups = list((given.get("config_groups") or {}).values())
    if len(groups) != 1:
        raise _refused("config_groups", f"{len(groups)} groups")
    return _one_group(groups[0])


def _one_group(group: Mapping[str, Any]) -> Packing:
    weights = group.get("weights") or {}
    wanted: dict[str, tuple[Any, ...]] = {
        "type": ("int",), "num_bits": BITS, "symmetric": (True,), "strategy": ("group", "channel"),
        "actorder": (None, False, "weight", "static"), "dynamic": (None, False),
    }  # fmt: skip
    for key, values in wanted.items():
        if weights.get(key) not in values:
            raise _refused(f"weights.{key}", weights.get(key))
    for key in ("input_activations", "output_activations"):
        if group.get(key):
            raise _refused(key, "set: activations are rounded too")
    size = weights.get("group_size")
    if weights["strategy"] == "channel":
        return Packing(weights["num_bits"], None)
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise _refused("weights.group_size", size)
    return Packing(weights["num_bits"], size)


def _refused(key: str, value: Any) -> MobiusError:
    return MobiusError(f"{METHOD}: {key} is {value!r:.60}, which cannot be read yet", _HINT)
