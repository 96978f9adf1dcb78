"""Hugging Face's names of tensors to GGUF's."""

from collections.abc import Iterable

from repack.errors import MobiusError

SUFFIXES = (".weight", ".bias", ".scale")
# What folders have beside weights; the class makes them itself.
NOT_WEIGHTS = (".rotary_emb.inv_freq",)


def gguf_names(names: Iterable[str], architecture: str, layers: int) -> dict[str, str]:
    """GGUF's name of each tensor; only those that end in .weight, .bias or .scale are asked for.

    Raises:
        MobiusError: there is none, or two tensors would get one name.
    """
    from gguf import MODEL_ARCH, MODEL_ARCH_NAMES, get_tensor_name_map

    kind = next(arch for arch in MODEL_ARCH if MODEL_ARCH_NAMES[arch] == architecture)
    known, found, taken = get_tensor_name_map(kind, layers), dict[str, str](), set[str]()
    for name in names:
        if name.endswith(NOT_WEIGHTS):
            continue
        stored = known.get_name(name, SUFFIXES)
        if stored is None or not name.endswith(SUFFIXES) or stored in taken:
            raise MobiusError(
                f"tensor {name} has no place in a {architecture} model",
                "converting without it could change the output; the folder may be of a newer variant",
            )
        found[name] = stored
        taken.add(stored)
    return found
