"""Packs GGUF files by hand, also ones that no writer would produce.

`gguf_bytes` takes keys and tensors already packed by the helpers below, so any field can be made wrong.
"""

import struct
from collections.abc import Sequence

U32, F32, STRING, ARRAY = 4, 6, 8, 9
Q4_0 = 2


def string(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data


def key_value(key: str | bytes, value_type: int, value: bytes) -> bytes:
    return string(key) + struct.pack("<I", value_type) + value


def key_string(key: str, text: str | bytes) -> bytes:
    return key_value(key, STRING, string(text))


def key_u32(key: str, number: int) -> bytes:
    return key_value(key, U32, struct.pack("<I", number))


def array(item_type: int, count: int, items: bytes = b"") -> bytes:
    return struct.pack("<IQ", item_type, count) + items


def tensor(name: str | bytes, dims: Sequence[int], type_id: int = 0, offset: int = 0) -> bytes:
    """One directory entry; `dims` in file order, innermost first."""
    return string(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, type_id, offset)


def gguf_bytes(
    keys: Sequence[bytes] = (),
    tensors: Sequence[bytes] = (),
    data: bytes = b"",
    *,
    version: int = 3,
    alignment: int = 32,
    key_count: int | None = None,
    tensor_count: int | None = None,
) -> bytes:
    header = b"GGUF" + struct.pack(
        "<IQQ",
        version,
        len(tensors) if tensor_count is None else tensor_count,
        len(keys) if key_count is None else key_count,
    )
    header += b"".join(keys) + b"".join(tensors)
    return header.ljust(-(-len(header) // alignment) * alignment, b"\0") + data


ARCHITECTURE = key_string("general.architecture", "llama")


def one_tensor(
    dims: Sequence[int], type_id: int = 0, data: bytes = bytes(32), name: str | bytes = "a", offset: int = 0
) -> bytes:
    """A model of one key and one tensor."""
    return gguf_bytes([ARCHITECTURE], [tensor(name, dims, type_id, offset)], data)


def one_key(value_type: int, value: bytes, key: str | bytes = "k") -> bytes:
    """A header that ends with the only key."""
    return gguf_bytes([key_value(key, value_type, value)], alignment=1)


# Broken in the header: name -> (file, words that the message must contain).
MALFORMED: dict[str, tuple[bytes, str]] = {
    "version_0": (gguf_bytes(version=0), "version 0"),
    "version_1": (gguf_bytes(version=1), "version 1"),
    "version_4": (gguf_bytes(version=4), "version 4"),
    "big_endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
    "magic_only": (b"GGUF", "version at offset 4"),
    "no_counts": (b"GGUF" + struct.pack("<I", 3), "number of tensors at offset 8"),
    "cut_in_key": (gguf_bytes([ARCHITECTURE])[:40], "metadata key at offset"),
    "cut_in_directory": (one_tensor([8])[:80], "tensor"),
    "cut_in_data": (one_tensor([1024]), "expected at least 4224"),
    "cut_one_byte": (one_tensor([8])[:-1], "file is cut short: 159 bytes, expected at least 160"),
    "cut_at_data_start": (one_tensor([8])[:-32], "file is cut short"),
    "offset_beyond_file": (one_tensor([8], offset=1 << 40), "'a'"),
    "unknown_type_offset_beyond_file": (one_tensor([8], type_id=156, offset=1 << 40), "type 156"),
    "offset_misaligned": (one_tensor([8], offset=4, data=bytes(64)), "offset 4 is no multiple of 32"),
    "offset_2_64": (one_tensor([8], offset=(1 << 64) - 32), "'a'"),
    "key_twice": (gguf_bytes([ARCHITECTURE, ARCHITECTURE]), "'general.architecture' appears twice"),
    "tensor_twice": (
        gguf_bytes([ARCHITECTURE], [tensor("a", [8]), tensor("a", [8], offset=32)], bytes(64)),
        "'a' appears twice",
    ),
    "overlap": (
        gguf_bytes([ARCHITECTURE], [tensor("a", [16]), tensor("b", [8], offset=32)], bytes(64)),
        "overlaps 'b'",
    ),
    "overlap_unknown_type": (
        gguf_bytes([ARCHITECTURE], [tensor("a", [16], 156), tensor("b", [8])], bytes(64)),
        "overlaps 'b'",
    ),
    "fork_block_size": (
        gguf_bytes([ARCHITECTURE], [tensor("a", [128, 2], 41), tensor("b", [8], offset=96)], bytes(128)),
        "takes 36 bytes in ggml's layout, but 96 bytes",
    ),
    "dims_0": (one_tensor([]), "has 0 dimensions"),
    "dims_5": (one_tensor([2, 2, 2, 1, 1]), "has 5 dimensions"),
    "dims_million": (
        gguf_bytes([], [string("a") + struct.pack("<I", 10**6)], bytes(64)),
        "has 1000000 dimensions",
    ),
    "dims_2_32": (
        gguf_bytes([], [string("a") + struct.pack("<I", 0xFFFFFFFF)], bytes(64)),
        "has 4294967295 dimensions",
    ),
    "dim_zero": (one_tensor([8, 0]), "impossible shape [0, 8]"),
    "product_2_64": (one_tensor([1 << 32, 1 << 32]), "impossible shape"),
    "product_wraps_to_8": (one_tensor([(1 << 63) + 4, 2], data=bytes(64)), "impossible shape"),
    "product_unknown_type": (one_tensor([1 << 40, 1 << 40], 156), "impossible shape"),
    "huge_vocabulary": (one_tensor([64, (1 << 42) + 1]), "expected at least"),
    "row_not_of_blocks": (one_tensor([40, 2], Q4_0, bytes(96)), "rows of 40 weights"),
    "row_not_of_super_blocks": (one_tensor([4544], 12, bytes(4096)), "blocks of 256"),
    "tensors_2_60": (gguf_bytes([ARCHITECTURE], tensor_count=1 << 60), "claims 1152921504606846976 tensors"),
    "tensors_100": (gguf_bytes([ARCHITECTURE], tensor_count=100), "list of 100 tensors"),
    "keys_2_60": (gguf_bytes([ARCHITECTURE], key_count=1 << 60), "claims 1152921504606846976 metadata keys"),
    "keys_100": (gguf_bytes([ARCHITECTURE], key_count=100), "list of 100 metadata keys"),
    "key_length_2_62": (
        gguf_bytes(key_count=1, alignment=1) + struct.pack("<Q", 1 << 62) + bytes(8),
        "metadata key at offset 24 has 4611686018427387904 bytes",
    ),
    "string_length_2_62": (one_key(STRING, struct.pack("<Q", 1 << 62)), "value of key 'k'"),
    "string_length_2_64": (one_key(STRING, struct.pack("<Q", (1 << 64) - 1)), "value of key 'k'"),
    "array_2_60_u32": (one_key(ARRAY, array(U32, 1 << 60)), "array of 1152921504606846976 values of key 'k'"),
    "array_2_60_strings": (one_key(ARRAY, array(STRING, 1 << 60)), "array of 1152921504606846976 values"),
    "array_2_60_arrays": (one_key(ARRAY, array(ARRAY, 1 << 60)), "array of 1152921504606846976 values"),
    "array_string_past_end": (
        one_key(ARRAY, array(STRING, 2, struct.pack("<QQ", 1 << 63, 0))),
        "array of 2 values of key 'k'",
    ),
    "array_string_wraps": (
        one_key(ARRAY, array(STRING, 2, struct.pack("<QQ", (1 << 64) - 8, 0))),
        "array of 2 values of key 'k'",
    ),
    "array_type_99": (one_key(ARRAY, array(99, 1, bytes(8))), "array of value type 99"),
    "arrays_2000_deep": (one_key(ARRAY, array(ARRAY, 1) * 2000 + array(U32, 0)), "nests arrays"),
    "arrays_bomb": (
        one_key(ARRAY, array(ARRAY, 1 << 17, array(U32, 0) * (1 << 17))),
        "more than 65536 arrays",
    ),
    "value_type_99": (one_key(99, bytes(4)), "value type 99"),
    "key_not_utf8": (one_key(U32, bytes(4), key=b"\xff\xfe"), "not UTF-8"),
    "key_empty": (one_key(U32, bytes(8), key=""), "has 0 bytes"),
    "key_64_kib": (one_key(U32, bytes(4), key="k" * 65537), "has 65537 bytes"),
    "key_nul": (one_key(U32, bytes(4), key="a\0b"), "NUL"),
    "tensor_name_nul": (one_tensor([8], name="a\0b"), "NUL"),
    "tensor_name_not_utf8": (one_tensor([8], name=b"a\x80"), "not UTF-8"),
    "tensor_name_newline": (one_tensor([0], name="a\nTraceback\x1b[31m"), r"'a\nTraceback\x1b[31m'"),
    "alignment_0": (gguf_bytes([key_u32("general.alignment", 0)]), "power of two"),
    "alignment_33": (gguf_bytes([key_u32("general.alignment", 33)]), "power of two"),
    "alignment_2_31": (gguf_bytes([key_u32("general.alignment", 1 << 31)]), "power of two"),
    "alignment_string": (gguf_bytes([key_string("general.alignment", "32")]), "uint32"),
}

# Not GGUF at all: name -> (file, words that the message must contain).
LOOKALIKES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "lfs_pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n",
        "Git LFS pointer",
    ),
    "html": (b"\n <!DOCTYPE html><html><body>Sign in</body></html>", "web page"),
    "json": (b'{"error": "Repository not found"}', "JSON"),
    "text": (b"Entry not found\n", "'Entry not found'"),
    "zip": (b"PK\x03\x04" + bytes(64), "zip archive or a PyTorch"),
    "pickle": (b"\x80\x02}q\x00.", "pickle"),
    "gzip": (b"\x1f\x8b\x08" + bytes(16), "gzip"),
    "safetensors": (struct.pack("<Q", 64) + b'{"a":{"dtype":"F32"' + bytes(64), "safetensors"),
    "ggml": (b"lmgg" + bytes(64), "old GGML"),
    "ggmf": (b"fmgg" + bytes(64), "old GGMF"),
    "ggjt": (b"tjgg\x03" + bytes(64), "old GGJT"),
    "ggla": (b"algg" + bytes(64), "GGLA"),
    "zeros": (bytes(4096), "zeros"),
    "other": (b"\x08\x0a\x12\x07pytorch\xff\xfe", "not a GGUF file: starts with bytes 08 0a 12 07"),
    "reversed_magic": (b"FUGG" + bytes(64), "not a GGUF file"),
}
