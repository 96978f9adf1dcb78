"""The initializers of a model folder, mapped and not read."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from converters.folder.layout import data_of
from repack.bits import bfloat16
from repack.errors import InputError

if TYPE_CHECKING:
    import onnx_ir as ir

# NumPy's view of a stored type, by ONNX's name: packed 4-bit integers and bfloat16 stay bytes and words.
_VIEWS = {"FLOAT": "<f4", "FLOAT16": "<f2", "BFLOAT16": "<u2", "DOUBLE": "<f8", "BOOL": "?", "UINT8": "u1",
          "INT8": "i1", "UINT16": "<u2", "INT32": "<i4", "INT64": "<i8", "INT4": "u1", "UINT4": "u1",
          "FLOAT8E8M0": "u1", "FLOAT8E4M3FN": "u1"}  # fmt: skip
_PAIRS = ("INT4", "UINT4")  # two to a byte


class FolderArrays:
    """Arrays of a graph by name; what they hold is read when it is used."""

    def __init__(self, path: Path) -> None:
        import onnx_ir as ir

        self.path = path
        try:
            model = ir.load(path)
        except Exception as error:  # whatever protobuf and onnx_ir find wrong
            raise self._damaged(f"cannot be read: {error}") from error
        self.properties = dict(model.metadata_props)
        self.read: set[str] = set()  # of which arrays somebody asked for
        self._found = {name: value.const_value for name, value in model.graph.initializers.items()}
        data = path.with_name(data_of(path.name))
        if not data.is_file():
            raise self._damaged(f"has no {data.name} beside it")
        self._data = np.memmap(data, np.uint8, "r") if data.stat().st_size else np.empty(0, np.uint8)

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array."""
        return tuple(self._tensor(name).shape.numpy())

    def dtype(self, name: str) -> str:
        """ONNX's name of the type of an array: "FLOAT"."""
        return str(self._tensor(name).dtype.name)

    def array(self, name: str) -> npt.NDArray[Any]:
        """An array, read-only; two 4-bit integers to a byte in one dimension, bfloat16 as uint16, float8 as uint8."""
        import onnx_ir as ir

        self.read.add(name)
        tensor = self._tensor(name)
        view = _VIEWS.get(tensor.dtype.name)
        if view is None:
            raise self._damaged(f"holds {name} as {tensor.dtype.name}")
        if isinstance(tensor, ir.ExternalTensor):
            first = tensor.offset or 0
            stored = self._data[first : first + tensor.nbytes]
        else:
            stored = np.frombuffer(tensor.tobytes(), np.uint8)
        if stored.size != tensor.nbytes:
            raise self._damaged(f"names more of {name} than {data_of(self.path.name)} has")
        values = stored.view(view)
        return values if tensor.dtype.name in _PAIRS else values.reshape(self.shape(name))

    def numbers(self, name: str) -> npt.NDArray[Any]:
        """As `array`, bfloat16 as float32."""
        found = self.array(name)
        return bfloat16(found) if self.dtype(name) == "BFLOAT16" else found

    def _tensor(self, name: str) -> "ir.TensorProtocol":
        found = self._found.get(name)
        if found is None:
            raise self._damaged(f"has no {name}")
        return found

    def _damaged(self, what: str) -> InputError:
        return InputError(f"{self.path} {what}", "convert the GGUF again with --force")
