"""The model under construction: nodes by name, constants once, weights described but not read.

Plain records, so that planning a conversion needs no ONNX package; `converters.graph.onnx_file` writes them.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from itertools import count as count_from
from typing import Any

import numpy as np
import numpy.typing as npt

MICROSOFT = "com.microsoft"
# Names of ONNX types used here: bits per element, and the TensorProto number that Cast takes.
DTYPES: dict[str, tuple[int, int]] = {
    "float32": (32, 1),
    "uint8": (8, 2),
    "int8": (8, 3),
    "uint16": (16, 4),
    "int32": (32, 6),
    "int64": (64, 7),
    "bool": (8, 9),
    "float16": (16, 10),
    "float64": (64, 11),
    "bfloat16": (16, 16),
    "float8e4m3fn": (8, 17),
    "uint4": (4, 21),
    "int4": (4, 22),
    "float8e8m0": (8, 24),
}
Shape = tuple[int | str, ...]
Compute = Callable[[], npt.NDArray[Any]]
PIECE_BYTES = 8 << 20  # of a weight that is computed in pieces; what is made on the way is several times as large


@dataclass(frozen=True)
class InPieces:
    """Computes `count` elements of an array's first axis, or `between` two of them, both multiples of `step`."""

    count: int
    between: Callable[[int, int], npt.NDArray[Any]]
    step: int = 1

    def __call__(self) -> npt.NDArray[Any]:
        """All."""
        return self.between(0, self.count)


@dataclass(eq=False)
class Value:
    """An edge of the graph. `compute` makes an initializer's array; `dtype` and `shape` may be unknown else.

    The array has `dtype`; for "uint4" and "int4" two values to a byte, for "bfloat16" uint16 and for float8 uint8 bits.
    """

    name: str
    dtype: str | None = None
    shape: Shape | None = None
    compute: Compute | None = None
    derived: bool = False  # the output of a node

    @property
    def nbytes(self) -> int:
        """Stored bytes of an initializer."""
        assert self.dtype is not None and self.shape is not None
        count = int(np.prod([int(n) for n in self.shape], dtype=np.int64))
        return (count * DTYPES[self.dtype][0] + 7) // 8

    def pieces(self) -> Iterator[npt.NDArray[Any]]:
        """An initializer's array in pieces along its first axis, as small as it can be computed; or as a whole."""
        assert self.compute is not None
        if not isinstance(self.compute, InPieces):
            yield self.compute()
            return
        count, step = self.compute.count, self.compute.step
        size = max(1, PIECE_BYTES * count // (self.nbytes * step)) * step
        for first in range(0, count, size):
            yield self.compute.between(first, min(first + size, count))


@dataclass(eq=False)
class Node:
    """An operator."""

    name: str
    domain: str
    op_type: str
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    attributes: dict[str, Any]


@dataclass(eq=False)
class Body:
    """What an operator such as Loop runs, an attribute of its node: nodes of its own, which see the values outside."""

    name: str
    inputs: list[Value]
    outputs: list[Value]
    nodes: list[Node]


class Graph:
    """Nodes, initializers, inputs and outputs."""

    def __init__(self, name: str, opset: int = 21) -> None:
        self.name, self.opset = name, opset
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.initializers: dict[str, Value] = {}
        self._constants: dict[str, npt.NDArray[Any]] = {}
        self.nodes: list[Node] = []
        self._scope: list[str] = []
        self._taken: dict[str, int] = {}

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Prefix the names of nodes made inside."""
        self._scope.append(name)
        try:
            yield
        finally:
            self._scope.pop()

    @contextmanager
    def body(self, name: str, inputs: Sequence[tuple[str, str, Shape]]) -> Iterator[Body]:
        """The nodes made inside are those of a Body with inputs (name, dtype, shape); the caller fills its outputs.

        Names are unique in the whole graph: some runtimes take an outer value of the same name.
        """
        label = self._unique("/".join([*self._scope, name]))
        outer = self.nodes
        made = Body(label, [Value(f"{label}/{part}", dtype, shape) for part, dtype, shape in inputs], [], [])
        self.nodes = made.nodes
        try:
            yield made
        finally:
            self.nodes = outer

    def op(self, op_type: str, *inputs: Value | None, domain: str = "", name: str = "", **attributes: Any) -> Value:
        """Add a node with one output, and return that."""
        return self.multi_op(op_type, *inputs, outputs=1, domain=domain, name=name, **attributes)[0]

    def multi_op(
        self,
        op_type: str,
        *inputs: Value | None,
        outputs: int,
        domain: str = "",
        name: str = "",
        **attributes: Any,
    ) -> tuple[Value, ...]:
        """Add a node with several outputs, and return them."""
        label = self._unique("/".join([*self._scope, *([name] if name else []), op_type]))
        made = tuple(Value(f"{label}/output_{index}", derived=True) for index in range(outputs))
        self.nodes.append(Node(label, domain, op_type, inputs, made, attributes))
        return made

    def _unique(self, name: str) -> str:
        count = self._taken.get(name, 0)
        self._taken[name] = count + 1
        return name if not count else f"{name}_{count}"

    def initializer(self, name: str, dtype: str, shape: Sequence[int], compute: Compute) -> Value:
        """A weight, computed when the file is written; see `Value` for what `compute` returns."""
        assert name not in self.initializers, name
        value = Value(name, dtype, tuple(int(n) for n in shape), compute)
        self.initializers[name] = value
        return value

    def constant(self, name: str, value: npt.NDArray[Any]) -> Value:
        """A small array, stored once; another array that asks for the same name gets that name and a number."""
        for label in chain([name], (f"{name}_{count}" for count in count_from(1))):
            known = self._constants.get(label)
            if known is None:
                return self._new_constant(label, value.copy())
            if _same(known, value):
                return self.initializers[label]
        raise AssertionError  # there are enough numbers

    def _new_constant(self, name: str, value: npt.NDArray[Any]) -> Value:
        self._constants[name] = value
        return self.initializer(name, value.dtype.name, value.shape, lambda: value)

    def ints(self, *values: int) -> Value:
        """An int64 vector such as a shape, stored once."""
        name = "ints_" + "_".join(str(v).replace("-", "m") for v in values)
        return self.constant(name, np.array(values, np.int64))

    def input(self, name: str, dtype: str, shape: Shape) -> Value:
        """A graph input."""
        value = Value(name, dtype, tuple(shape))
        self.inputs.append(value)
        return value

    def output(self, value: Value, name: str, dtype: str, shape: Shape) -> None:
        """Make a value a graph output under the given name."""
        value.name, value.dtype, value.shape = name, dtype, tuple(shape)
        self.outputs.append(value)

    def cast(self, value: Value, dtype: str, name: str = "") -> Value:
        """A Cast node."""
        made = self.op("Cast", value, name=name, to=DTYPES[dtype][1])
        made.dtype = dtype
        return made


def _same(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    """Type, shape and every bit."""
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
