"""The same model with every tensor in float32: what an exact reference reads."""

from __future__ import annotations

from pathlib import Path

import gguf
import libgguf
import numpy as np
from gguf.quants import dequantize
from numpy.typing import NDArray


def dequantized_copy(src: Path, dst: Path) -> Path:
    """Copy a tiny GGUF file with its tensors as F32, order and metadata kept (but for general.file_type)."""
    reader = gguf.GGUFReader(src)
    writer = gguf.GGUFWriter(dst, reader.fields["general.architecture"].contents())
    for key, field in reader.fields.items():
        # The reader lists the header under names of its own; the writer adds the architecture itself.
        if key.startswith("GGUF.") or key in ("general.architecture", "general.file_type"):
            continue
        array = field.types[0] == gguf.GGUFValueType.ARRAY
        writer.add_key_value(key, field.contents(), field.types[0], field.types[-1] if array else None)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, values_of(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return dst


def values_of(tensor: gguf.ReaderTensor) -> NDArray[np.float32]:
    """The tensor's values, rows first, by the reference decoder."""
    shape = tuple(int(size) for size in reversed(tensor.shape))
    if tensor.tensor_type == gguf.GGMLQuantizationType.Q1_0:  # not in gguf's own decoder
        values = libgguf.dequantize_rows(tensor.data, int(tensor.tensor_type))
    else:
        values = dequantize(tensor.data, tensor.tensor_type)
    return np.ascontiguousarray(values.reshape(shape), dtype=np.float32)
