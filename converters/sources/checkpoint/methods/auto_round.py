"""AutoRound: matrices packed as other methods have them."""

from collections.abc import Mapping
from typing import Any

from converters.sources.checkpoint.entries import Found, Method, Tensors
from converters.sources.checkpoint.methods import awq, gptq
from repack.errors import MobiusError

# packing_format: version of GPTQ's zero points; None for AWQ.
PACKINGS = {"auto_round:auto_gptq": 1, "auto_round": 2, "auto_round:gptqmodel": 2, "auto_round:auto_awq": None}


def gather(given: Mapping[str, Any], tensors: Tensors) -> Found:
    """Quantized matrices put together.

    Raises:
        MobiusError: another packing, or zero points that are mislabelled.
    """
    packing = given.get("packing_format", "auto_round")
    if packing not in PACKINGS:
        raise MobiusError(
            f"AutoRound: packing_format {packing!r:.40} cannot be read", f"supported: {', '.join(PACKINGS)}"
        )
    if given.get("model_free") and given.get("sym") is not True:
        raise MobiusError(
            "AutoRound: model_free files with zero points hold other ones than they say",
            "quantize the model again without model_free, or convert a GGUF of it",
        )
    version = PACKINGS[packing]
    if version is None:
        return awq.gather({key: given.get(key) for key in ("bits", "group_size")}, tensors)
    return gptq.put_together(given, tensors, version)


def _claims(given: Mapping[str, Any], _: Tensors) -> bool:
    return given.get("quant_method") in ("auto-round", "intel/auto-round")


AUTO_ROUND = Method("AutoRound", _claims, (gptq.CODES,), gather)
