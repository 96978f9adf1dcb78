"""The source's tensors as graph values, each used once or named as left over."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial

import numpy as np
import numpy.typing as npt

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.sources.source import Order, Source, Tensor
from converters.weights.dense import emit_dense, emit_vector, fold
from converters.weights.experts import expert_stem
from converters.weights.formats import FORMATS
from converters.weights.matrix import ExpertStack, Matrix, SelectableMatrix, StoredRows
from converters.weights.mixture import Mixture, emit_mixture
from converters.weights.ordered import ordered
from converters.weights.records import TensorRecord
from repack.block_quantized import BlockMatrix, Layout
from repack.errors import MobiusError
from repack.registry import FLOAT_TYPES, QUANT_TYPES


class Weights:
    """Hands out graph values for tensors; knows which tensors nobody asked for."""

    def __init__(self, source: Source, context: GraphContext, ignored: Sequence[str] = ()) -> None:
        self.source = source
        self.records: dict[str, TensorRecord] = {}
        self.orders: dict[str, Order] = {}  # in which the graph wants rows; of a tensor that moves
        self._c = context
        self._format = FORMATS[context.target.quant_format]
        self._matrices: dict[str, Matrix] = {}
        self._vectors: dict[tuple[str, str], Value] = {}
        self.ignored = [name for name in source.tensors if any(fnmatchcase(name, pattern) for pattern in ignored)]
        for name in self.ignored:
            self.set_aside_one(name)

    def __contains__(self, name: str) -> bool:
        return name in self.source.tensors and name not in self.ignored

    def matrix(self, name: str, shape: tuple[int, int], order: Order = None, gathered: bool = False) -> Matrix:
        """A 2-D tensor, quantized or dense as the target wants; `order` picks its rows in a new order.

        Or a 3-D one, whose matrices stand below one another. `gathered`: its rows are only looked up, never multiplied.

        Raises:
            MobiusError: the tensor is missing, has another shape, or a type that cannot be kept.
        """
        if name not in self._matrices:
            if self.kept(name) is not None:
                self._matrices[name] = self._quantized(name, [self._rows(name, shape, order)], gathered)
            else:
                record, source = self._take(name, shape, order=order), self.source
                self._matrices[name] = emit_dense(
                    self._c, record, shape, lambda: source.floats(name, order), lambda: source.raw(name, order)
                )
        return self._matrices[name]

    def kept(self, name: str, expert: int | None = None) -> Layout | None:
        """The layout of a matrix, or of one of a stack, that will be kept quantized; None for floats."""
        if name not in self.source.tensors or self._c.target.dequantize:
            return None
        found = self.source.matrix(name, expert=expert)
        return None if found is None else found.layout

    def one_type(self, names: Sequence[str], expert: int | None = None) -> bool:
        """Whether all are kept, in one quantized type, with their columns in one order."""
        types = {self.source.tensors[name].type_name if self.kept(name, expert) else "" for name in names}
        if len(types) != 1 or "" in types:
            return False
        orders = {
            None if order is None else order.tobytes() for order in (self._column_order(n, expert) for n in names)
        }
        return len(orders) == 1

    def stacked(self, name: str, tensors: Sequence[tuple[str, int, Order]], columns: int) -> Matrix:
        """Several tensors (name, rows, order) of `one_type` as one matrix, rows below one another."""
        if name not in self._matrices:
            parts = [self._rows(tensor, (rows, columns), order) for tensor, rows, order in tensors]
            self._matrices[name] = self._quantized(name, parts)
        return self._matrices[name]

    def _quantized(self, name: str, parts: Sequence[StoredRows], gathered: bool = False) -> Matrix:
        made = self._format.emit(self._c, name, parts, gathered)
        records = [part.record for part in parts]
        return ordered(self._c, made, self._column_order(records[0].name), records)

    def _column_order(self, name: str, expert: int | None = None) -> npt.NDArray[np.intp] | None:
        found = self.source.matrix(name, expert=expert)
        return None if found is None else found.column_order()

    def experts(self, name: str, tensors: Sequence[tuple[str, int]], count: int, columns: int) -> ExpertStack:
        """A matrix for each of `count` experts, whose rows are those of tensors (name, rows) below one another.

        Tensors are [count, rows, columns]: several of `one_type`, or one, which may hold floats.
        """
        first = tensors[0][0]
        if self.kept(first, expert=0) is None:
            (one,) = tensors
            return self._dense_experts(first, (count, one[1], columns))
        return self._format.emit_experts(self._c, name, self._expert_parts(tensors, count, columns))

    def mixture(
        self, name: str, tensors: Sequence[tuple[str, int]], count: int, columns: int, in_turn: bool
    ) -> Mixture:
        """As `experts`, in the layout of QMoE; `in_turn`: the rows of both halves take turns."""
        return emit_mixture(self._c, name, self._expert_parts(tensors, count, columns), in_turn)

    def experts_below(self, stem: str, count: int, rows: int, columns: int) -> SelectableMatrix:
        """The matrices of `count` experts, `stem`.weight [count, rows, columns], below one another."""
        name = f"{stem}.weight"
        if self.kept(name, expert=0) is None:
            floats, raw = partial(self.source.floats, name), partial(self.source.raw, name)
            return self._dense_bands(name, (count, rows, columns), (count * rows, columns), floats, raw)
        record = self._take(name, (count, rows, columns))
        parts = [self._expert_rows(record, rows, expert) for expert in range(count)]
        made = self._format.emit(self._c, name, parts, gathered=False)
        record.place(record.format, count * record.stored_bytes, stored_as=name, experts=count)
        return made

    def experts_beside(self, stem: str, count: int, rows: int, columns: int) -> SelectableMatrix:
        """The same beside one another: [rows, count * columns]."""
        name, source = f"{stem}.weight", self.source
        if self.kept(name, expert=0) is None:
            return self._dense_bands(
                name,
                (count, rows, columns),
                (rows, count * columns),
                lambda: np.concatenate([source.floats(name, expert=e) for e in range(count)], axis=1),
                lambda: np.concatenate([source.raw(name, expert=e) for e in range(count)], axis=1),
            )
        record = self._take(name, (count, rows, columns))
        return self._format.emit_beside(self._c, name, [self._expert_rows(record, rows, e) for e in range(count)])

    def _dense_bands(
        self,
        name: str,
        shape: tuple[int, int, int],
        stored: tuple[int, int],
        floats: Callable[[], npt.NDArray[np.float32]],
        raw: Callable[[], npt.NDArray[np.uint8]],
    ) -> SelectableMatrix:
        record = self._take(name, shape)
        made = emit_dense(self._c, record, stored, floats, raw)
        record.place(record.format, record.stored_bytes, experts=shape[0])
        return made

    def _dense_experts(self, name: str, shape: tuple[int, int, int]) -> ExpertStack:
        record, source, matrices, total = self._take(name, shape), self.source, [], 0
        for e in range(shape[0]):
            one = replace(record, name=expert_stem(name, e))
            floats, raw = partial(source.floats, name, expert=e), partial(source.raw, name, expert=e)
            matrices.append(emit_dense(self._c, one, shape[1:], floats, raw))
            total += one.stored_bytes
        record.place(one.format, total, experts=shape[0])
        return ExpertStack(None, matrices, None)

    def _expert_parts(self, tensors: Sequence[tuple[str, int]], count: int, columns: int) -> list[list[StoredRows]]:
        """Of each expert its rows of the tensors (name, rows), [count, rows, columns] each."""
        records = [(self._take(tensor, (count, rows, columns)), rows) for tensor, rows in tensors]
        return [[self._expert_rows(record, rows, e) for record, rows in records] for e in range(count)]

    def _expert_rows(self, record: TensorRecord, rows: int, expert: int) -> StoredRows:
        source, known = self.source, self.source.matrix(record.name, expert=expert)
        assert known is not None, record.name
        if known.column_order() is not None:
            raise MobiusError(f"{record.name}: experts with columns in an order of their own are not supported yet",
                              "take a checkpoint without activation order")  # fmt: skip

        def read() -> BlockMatrix:
            found = source.matrix(record.name, expert=expert)
            assert found is not None
            return found

        return StoredRows(record, replace(known.layout, rows=rows), read)

    def vector(
        self, name: str, shape: tuple[int, ...], order: Order = None, dtype: str | None = None, use: str = ""
    ) -> Value:
        """A small tensor, in the activation type unless `dtype` says otherwise; `order` picks its elements.

        `use` says in the record what it is for, where it is no plain weight.
        """
        stored = dtype or self._c.target.dtype
        if (name, stored) not in self._vectors:
            record = self._take(name, shape, loose=True, order=order)
            self._vectors[name, stored] = emit_vector(
                self._c, record, lambda: self.source.floats(name, order), shape, stored, use
            )
        return self._vectors[name, stored]

    def dense_stack(self, name: str, shape: tuple[int, int, int], use: str) -> Value:
        """A stack of matrices as floats of the activation type, whatever they are in the file; `use` as in `vector`."""
        record, source = self._take(name, shape), self.source

        def floats() -> npt.NDArray[np.float32]:
            return np.stack([source.floats(name, expert=number) for number in range(shape[0])])

        return emit_vector(self._c, record, floats, shape, self._c.target.dtype, use)

    def array(self, name: str, length: int) -> npt.NDArray[np.float32]:
        """The numbers of a small 1-D tensor that shapes the graph itself."""
        return fold(self._take(name, (length,)), self.source.floats(name))

    def set_aside(self, suffix: str) -> int:
        """Name tensors `X.suffix` beside a weight `X.weight` as deliberately unused; returns how many."""
        count = 0
        for name in self.source.tensors:
            stem = name.removesuffix(suffix)
            if name not in self.records and stem != name and f"{stem}weight" in self.records:
                self.set_aside_one(name)
                count += 1
        return count

    def set_aside_one(self, name: str, reason: str = "unused, as in llama.cpp", noted: bool = False) -> None:
        """Name a tensor as deliberately unused; `noted`: its numbers are recorded for other targets."""
        record = self._record(self.source.tensors[name])
        record.place(reason, 0)
        if noted:
            fold(record, self.source.floats(name), reason)

    def unused(self) -> list[str]:
        """Tensors that nothing asked for."""
        return [name for name in self.source.tensors if name not in self.records]

    def _rows(self, name: str, shape: tuple[int, int], order: Order) -> StoredRows:
        layout, record = self.kept(name), self._take(name, shape, order=order)
        assert layout is not None, name

        def read() -> BlockMatrix:
            found = self.source.matrix(name, order)
            assert found is not None
            return found

        return StoredRows(record, layout, read)

    def _take(self, name: str, shape: tuple[int, ...], loose: bool = False, order: Order = None) -> TensorRecord:
        """The record of a tensor of this shape; `loose`: wherever it has axes of one."""
        info = self.source.tensors.get(name)
        if info is None:
            raise MobiusError(f"tensor {name} is missing from {self.source.path.name}",
                              "the file is incomplete or of a variant that is not supported")  # fmt: skip
        named = info.type_name in QUANT_TYPES or info.type_name in FLOAT_TYPES
        if not named and self.source.matrix(name, expert=0 if len(info.shape) == 3 else None) is None:
            known = ", ".join([*FLOAT_TYPES, *QUANT_TYPES])
            raise MobiusError(f"{name} is of type {info.type_name}, which is not supported", f"supported: {known}")
        same = info.shape in (shape, (1, *shape)) or (loose and _larger(info.shape) == _larger(shape))
        same = same or (len(info.shape) == len(shape) + 1 == 3 and _flat(info.shape) == shape)
        if not same:
            raise MobiusError(
                f"{name} has shape {list(info.shape)}, but the metadata asks for {list(shape)}",
                "the metadata and the tensors contradict each other; the file is not convertible as it is",
            )
        if order is not None:
            self.orders[name] = order
        return self._record(info)

    def _record(self, info: Tensor) -> TensorRecord:
        self.records[info.name] = TensorRecord(info.name, info.type_name, info.shape, info.nbytes or 0)
        return self.records[info.name]


def _flat(shape: tuple[int, ...]) -> tuple[int, int]:
    """Matrices below one another."""
    return shape[0] * shape[1], shape[2]


def _larger(shape: tuple[int, ...]) -> list[int]:
    """The axes that are not of one."""
    return [size for size in shape if size != 1]
