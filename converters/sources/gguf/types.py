"""Tensor types of GGUF files: number, name, block size and bytes per block.

Numbers and sizes are those of `enum ggml_type` in llama.cpp (ggml.h); the numbers it does not list any more, or that
forks use, are handled here.
"""

from dataclasses import dataclass

from repack.ggml_types import GGML_TYPES


@dataclass(frozen=True)
class TensorType:
    """One ggml type: every `block_size` consecutive weights of a row take `block_bytes` bytes."""

    name: str
    block_size: int
    block_bytes: int


TENSOR_TYPES: dict[int, TensorType] = {
    kind.number: TensorType(name, kind.weights, kind.size) for name, kind in GGML_TYPES.items()
}

# Numbers that llama.cpp gave up and never uses again, with the type to look for instead. The first two ended in
# spring 2023, before GGUF; the others with llama.cpp's pull request 10446 of 7 December 2024.
RETIRED_TYPES: dict[int, tuple[str, str]] = {
    4: ("Q4_2", "Q4_0"),
    5: ("Q4_3", "Q4_1"),
    31: ("Q4_0_4_4", "Q4_0"),
    32: ("Q4_0_4_8", "Q4_0"),
    33: ("Q4_0_8_8", "Q4_0"),
    36: ("IQ4_NL_4_4", "IQ4_NL"),
    37: ("IQ4_NL_4_8", "IQ4_NL"),
    38: ("IQ4_NL_8_8", "IQ4_NL"),
}


def type_name(type_id: int) -> str:
    """Return the ggml name of a type number, or `type N` for a number that nobody has named."""
    if type_id in TENSOR_TYPES:
        return TENSOR_TYPES[type_id].name
    return RETIRED_TYPES[type_id][0] if type_id in RETIRED_TYPES else f"type {type_id}"


def unreadable_type(type_id: int) -> tuple[str, str]:
    """Say why tensors of a type outside TENSOR_TYPES cannot be read: (reason, hint)."""
    if type_id in RETIRED_TYPES:
        name, instead = RETIRED_TYPES[type_id]
        readers = "no llama.cpp that reads GGUF knows it" if type_id < 6 else "releases before 7 December 2024 read it"
        return (
            f"type {type_id} ({name}), which llama.cpp has removed ({readers})",
            f"Download a {instead} file of this model instead.",
        )
    return (
        f"type {type_id}, which is none of ggml's",
        "The file is damaged or made by a fork of llama.cpp: "
        "download this model in a standard type such as Q4_K_M or Q8_0.",
    )
