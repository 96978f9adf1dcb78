"""Key/value metadata of a GGUF file: checked when the file is opened, decoded when asked for.

Layout as in the GGUF specification (docs/gguf.md of ggml): a key is a length-prefixed string, then comes a
uint32 value type, then the value. Strings have a uint64 length, arrays a uint32 element type and a uint64
count; all numbers are little endian.
"""

import mmap
import struct
from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from converters.sources.gguf.cursor import MAX_INNER_ARRAYS, MAX_STRINGS, U32, U64, Cursor, shown

UINT32, STRING, ARRAY = 4, 8, 9
_SCALARS: dict[int, struct.Struct] = {
    number: struct.Struct(code)
    for number, code in {
        0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
    }.items()
}  # fmt: skip
MAX_DEPTH = 8  # arrays inside arrays; llama.cpp itself reads none


class Record(NamedTuple):
    """Where one key/value pair lies: [start, end) is the whole record, `value` the offset after the type."""

    start: int
    value_type: int
    value: int
    end: int


def read_record(cursor: Cursor) -> tuple[str, Record]:
    """Read one key and step over its value, which is checked but not decoded. Raises InputError."""
    start = cursor.position
    key = cursor.name("metadata key")
    value_type = cursor.u32(f"value type of key {shown(key)}")
    value = cursor.position
    _skip_value(cursor, value_type, key)
    return key, Record(start, value_type, value, cursor.position)


def _skip_value(cursor: Cursor, value_type: int, key: str, depth: int = 0) -> None:
    what = f"value of key {shown(key)}"
    if value_type in _SCALARS:
        cursor.skip(_SCALARS[value_type].size, what)
    elif value_type == STRING:
        cursor.skip(cursor.u64(f"length of the {what}"), what)
    elif value_type == ARRAY:
        _skip_array(cursor, key, depth + 1)
    else:
        raise cursor.damaged(
            f"key {shown(key)} at offset {cursor.position - 4} has value type {value_type}; GGUF has 0 to 12"
        )


def _skip_array(cursor: Cursor, key: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise cursor.damaged(f"key {shown(key)} nests arrays more than {MAX_DEPTH} deep")
    item_type = cursor.u32(f"array type of key {shown(key)}")
    count = cursor.u64(f"array length of key {shown(key)}")
    what = f"array of {count} values of key {shown(key)}"
    if item_type in _SCALARS:
        cursor.skip(count * _SCALARS[item_type].size, what)
    elif item_type == STRING:
        cursor.need(count * 8, what)
        cursor.strings_left -= count
        if cursor.strings_left < 0:
            raise cursor.damaged(f"key {shown(key)}: more than {MAX_STRINGS} strings in the metadata")
        _skip_strings(cursor, count, what)
    elif item_type == ARRAY:
        cursor.need(count * 12, what)
        cursor.inner_arrays_left -= count
        if cursor.inner_arrays_left < 0:
            raise cursor.damaged(f"key {shown(key)}: more than {MAX_INNER_ARRAYS} arrays inside arrays")
        for _ in range(count):
            _skip_array(cursor, key, depth + 1)
    else:
        raise cursor.damaged(f"key {shown(key)} is an array of value type {item_type}; GGUF has 0 to 12")


def _skip_strings(cursor: Cursor, count: int, what: str) -> None:
    """Walk `count` strings. Vocabularies have 1e5 to 1e6 of them, so bounds are left to `unpack_from`."""
    unpack, buffer, position = U64.unpack_from, cursor.buffer, cursor.position
    try:
        for _ in repeat(None, count):
            position += 8 + unpack(buffer, position)[0]
    except (struct.error, IndexError, OverflowError):  # a length that points past the end of the file
        position = max(position, cursor.size + 1)
    cursor.skip(position - cursor.position, what)


class GgufMetadata(Mapping[str, Any]):
    """Metadata of one file, in file order: key to bool, int, float, str, NumPy array, list[str] or list.

    A value is decoded the first time it is asked for. Arrays of numbers are read-only NumPy arrays of the
    file's type, arrays of strings are list[str], arrays of arrays are lists. Keys are strict UTF-8; in values
    bytes that are not UTF-8 become U+FFFD, because some vocabularies hold parts of characters.
    """

    def __init__(self, buffer: mmap.mmap, records: dict[str, Record]) -> None:
        self._buffer = buffer
        self._records = records
        self._decoded: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        if key not in self._decoded:
            record = self._records[key]
            self._decoded[key] = _decode(self._buffer, record.value_type, record.value)[0]
        return self._decoded[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, key: object) -> bool:
        return key in self._records

    def array_length(self, key: str) -> int | None:
        """Return the number of elements of an array without decoding it; None when it is no array."""
        record = self._records[key]
        if record.value_type != ARRAY:
            return None
        return int(U64.unpack_from(self._buffer, record.value + 4)[0])

    def value_type(self, key: str) -> int:
        """Return the value type number of the GGUF specification (4 is uint32, 8 string, 9 array)."""
        return self._records[key].value_type

    def record_bytes(self, key: str) -> bytes:
        """Return the record as it stands in the file: key, value type and value."""
        record = self._records[key]
        return self._buffer[record.start : record.end]


def _decode(buffer: mmap.mmap, value_type: int, position: int) -> tuple[Any, int]:
    """Decode a value that `read_record` has checked; return it and the offset after it."""
    if value_type == STRING:
        end = position + 8 + int(U64.unpack_from(buffer, position)[0])
        return buffer[position + 8 : end].decode("utf-8", "replace"), end
    if value_type == ARRAY:
        item_type = U32.unpack_from(buffer, position)[0]
        return _decode_array(buffer, item_type, U64.unpack_from(buffer, position + 4)[0], position + 12)
    scalar = _SCALARS[value_type]
    return scalar.unpack_from(buffer, position)[0], position + scalar.size


def _decode_array(buffer: mmap.mmap, item_type: int, count: int, position: int) -> tuple[Any, int]:
    if item_type in _SCALARS:
        return _decode_numbers(buffer, _SCALARS[item_type], count, position)
    items: list[Any] = []
    if item_type == STRING:
        unpack = U64.unpack_from
        for _ in repeat(None, count):
            start = position + 8
            position = start + unpack(buffer, position)[0]
            items.append(buffer[start:position].decode("utf-8", "replace"))
    else:
        for _ in repeat(None, count):
            item, position = _decode(buffer, item_type, position)
            items.append(item)
    return items, position


def _decode_numbers(buffer: mmap.mmap, item: struct.Struct, count: int, position: int) -> tuple[Any, int]:
    end = position + count * item.size
    is_bool = item.format == "<?"
    # Slicing copies, so the array stays valid after the file is closed.
    array = np.frombuffer(buffer[position:end], "<u1" if is_bool else item.format)
    if is_bool:
        array = array != 0  # llama.cpp takes any byte but 0 as true
        array.flags.writeable = False
    return array, end
