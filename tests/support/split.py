"""A GGUF file split into parts, as gguf-split does it."""

from pathlib import Path

import gguf


def write_split(path: Path, destination: Path, most_tensors: int) -> list[Path]:
    """Write the parts of a file beside `destination`, NAME-00001-of-..., and return them in order."""
    reader = gguf.GGUFReader(path)
    kind = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(destination, kind, split_max_tensors=most_tensors)
    for key, value in reader.fields.items():
        if not key.startswith("GGUF.") and key != "general.architecture":
            kinds = value.types
            writer.add_key_value(key, value.contents(), kinds[0], kinds[-1] if len(kinds) > 1 else None)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return sorted(destination.parent.glob(f"{destination.stem}-*.gguf"))
