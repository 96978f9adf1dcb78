"""Write tiny random GGUF files that llama.cpp runs, for any storage type and many odd options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import gguf
import libgguf
import numpy as np
from numpy.typing import NDArray

from tests.support.tiny_parts import ARCHS, FloatArray, TinyConfig, metadata, tensors, vocabulary

__all__ = ["ARCHS", "SMALL", "TinyConfig", "add_value", "encode", "vocabulary", "write_tiny"]

Types = str | Mapping[str, str]
Stored = tuple[NDArray[Any], gguf.GGMLQuantizationType]
FLOATS = ("F32", "F16", "BF16")
# Options of `write_tiny` for a model with a tokenizer that converts in no time.
SMALL: dict[str, Any] = {"types": "Q8_0", "tokenizer": "bpe", "n_vocab": 320, "n_embd": 32, "n_ff": 32,
                         "head_dim": 16, "n_head": 2, "n_kv": 1, "n_ctx": 64}  # fmt: skip


def write_tiny(
    path: Path,
    arch: str,
    *,
    types: Types = "F32",
    seed: int = 0,
    tokenizer: str = "none",
    drop_tensors: Sequence[str] = (),
    extra_tensors: Mapping[str, NDArray[Any] | tuple[NDArray[Any], str]] | None = None,
    drop_metadata: Sequence[str] = (),
    order: str = "file",
    **options: Any,
) -> Path:
    """Write one file and return its path.

    types: one type for every matrix, or patterns (first ``re.search`` hit wins, no hit is F32). Vectors stay
    F32, except that a pattern may make them F16 or BF16. drop_tensors: patterns of whole names.
    extra_tensors: added, or put in place of the tensor of that name; an array is stored with its own dtype, a
    pair is raw bytes and a type name. drop_metadata: key names, with or without the architecture prefix.
    order: "file" or "reverse". options: fields of :class:`TinyConfig`.
    """
    if arch not in ARCHS:
        raise ValueError(f"no tiny model for {arch!r}: {', '.join(ARCHS)}")
    config = TinyConfig(arch, **options)
    stored = dict(_stored(config, types, seed, drop_tensors))
    stored |= {name: _given(value) for name, value in (extra_tensors or {}).items()}
    keys = {"general.quantization_version": 2, "general.file_type": _file_type(types), **metadata(config, tokenizer)}
    dropped = {*drop_metadata, *(f"{arch}.{key}" for key in drop_metadata)}
    kept = {key: value for key, value in keys.items() if key not in dropped}
    names = reversed(stored) if order == "reverse" else stored
    return write_file(path, arch, kept, {name: stored[name] for name in names})


def write_file(path: Path, arch: str, metadata: Mapping[str, Any], tensors: Mapping[str, Stored]) -> Path:
    """Write a GGUF file of these keys, beside general.architecture, and tensors, in their order."""
    writer = gguf.GGUFWriter(path, arch)
    for key, value in metadata.items():
        add_value(writer, key, value)
    for name, (data, kind) in tensors.items():
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def encode(values: FloatArray, type_name: str) -> Stored:
    """Values in a storage type, as the writer takes them: bytes for anything but F32 and F16."""
    kind = gguf.GGMLQuantizationType[type_name]
    block = gguf.GGML_QUANT_SIZES[kind][0]
    if values.shape[-1] % block:
        raise ValueError(f"rows of {values.shape[-1]} values do not fill {type_name} blocks of {block}")
    if type_name == "F32":
        return values.astype(np.float32), kind
    if type_name == "F16":
        return values.astype(np.float16), kind
    rows = libgguf.quantize_rows(values.reshape(-1, values.shape[-1]), int(kind))
    return rows.reshape(*values.shape[:-1], -1), kind


def add_value(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    """One metadata value; a pair (value, gguf.GGUFValueType) sets the stored type."""
    if isinstance(value, tuple):
        writer.add_key_value(key, *value)
    elif isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)


def _stored(config: TinyConfig, types: Types, seed: int, dropped: Sequence[str]) -> Iterator[tuple[str, Stored]]:
    for name, values in tensors(config, seed):
        if not any(re.fullmatch(pattern, name) for pattern in dropped):
            yield name, encode(values, _type_of(name, values.ndim, types))


def _type_of(name: str, ndim: int, types: Types) -> str:
    if isinstance(types, str):
        return types if ndim > 1 else "F32"
    found = next((kind for pattern, kind in types.items() if re.search(pattern, name)), "F32")
    # rope_freqs and quantized vectors exist in no real file, and llama.cpp stops on them.
    return found if ndim > 1 or (found in FLOATS and not name.startswith("rope_freqs")) else "F32"


def _given(value: NDArray[Any] | tuple[NDArray[Any], str]) -> Stored:
    if isinstance(value, tuple):
        return value[0], gguf.GGMLQuantizationType[value[1]]
    return value, gguf.GGMLQuantizationType.F16 if value.dtype == np.float16 else gguf.GGMLQuantizationType.F32


def _file_type(types: Types) -> int:
    """The nearest general.file_type; a mixture goes by its most common entry, as files in the wild do."""
    kind = types if isinstance(types, str) else max(types.values(), key=list(types.values()).count, default="F32")
    names = gguf.LlamaFileType.__members__
    found = (names[name] for name in (f"MOSTLY_{kind}", f"MOSTLY_{kind}_M", f"ALL_{kind}") if name in names)
    return int(next(found, gguf.LlamaFileType.GUESSED))
