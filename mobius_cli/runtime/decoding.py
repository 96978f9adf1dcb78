"""One sequence in a session: its states, from run to run, and how far it is filled."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from converters.graph.states import State
from repack.errors import MobiusError

F32 = npt.NDArray[np.float32]
TYPES: dict[str, Any] = {"float32": np.float32, "float16": np.float16, "bfloat16": 16}  # 16: ONNX's, numpy has none
NOT_REPLAYED = "-1"  # graph id of a run that is neither captured nor replayed


class Decoding:
    """One sequence: its states, and how far it is filled.

    A state in place is one buffer, which is input and output of every run. Of any other, what one run gives is what
    the next one takes, without a copy here.

    Attributes:
        past: tokens so far.
    """

    def __init__(self, session: Any, states: Sequence[State], length: int, device: str, last_logits: bool) -> None:
        """Make states for `length` positions on `device`.

        Args:
            session: ONNX Runtime's.
            states: of the folder's manifest.
            length: the most tokens that will come.
            device: ONNX Runtime's name of where the states live.
            last_logits: the session computes logits of the last position only.
        """
        self.past = 0
        self._session, self._device, self._last_logits = session, device, last_logits
        self._states = tuple(states)
        self._fixed = {state: _empty(state, length, device) for state in states if state.in_place}
        self._carried = {state: _empty(state, 0, device) for state in states if not state.in_place}
        self._marks: dict[int, dict[State, Any]] = {0: self._unplaced()}
        self._binding = session.io_binding()
        self._bind_fixed(self._binding)
        self._vocab = next(o.shape[2] for o in session.get_outputs() if o.name == "logits")
        self._logits: Any = None
        self._rows = 0

    def run(self, ids: Sequence[int]) -> F32:
        """Append tokens; float32 logits [len(ids), vocabulary], or of the last one only as the model was opened."""
        return self._run(ids, None)

    def mark(self) -> None:
        """Remember what the states without positions are now, so that `rewind` can come back to here."""
        self._marks = {0: self._marks[0], self.past: self._unplaced()}

    def reachable(self, length: int) -> int:
        """The most tokens, up to `length`, that `rewind` can keep: where some state has no positions, as marked."""
        if not self._marks[0] or length == self.past:
            return length
        return max(place for place in self._marks if place <= length)

    def rewind(self, length: int) -> None:
        """Keep the first `length` tokens only; of buffers in place, what is behind them is never read again.

        Raises:
            MobiusError: the model carries a state without positions, and this place is neither the start nor the last
                one that was marked.
            ValueError: there are not so many tokens.
        """
        if not 0 <= length <= self.past:
            raise ValueError(f"cannot rewind from {self.past} tokens to {length}")
        if length == self.past:
            return
        if length != self.reachable(length):
            raise MobiusError("cannot go back in a text: the model has states without positions", "start a new text")
        for state in self._carried:
            if state.position_axis is not None:
                self._carried[state] = self._cut(state, self._carried[state], length)
        if self._marks[0]:
            self._put(self._marks[length])
            self._marks = {place: kept for place, kept in self._marks.items() if place <= length}
        self.past = length

    def _unplaced(self) -> dict[State, Any]:
        """Copies, as numpy arrays, of the states without positions."""
        every = {**self._fixed, **self._carried}
        return {state: every[state].numpy().copy() for state in self._states if state.position_axis is None}

    def _put(self, kept: dict[State, Any]) -> None:
        """Make these the states without positions."""
        for state, values in kept.items():
            if state in self._fixed:
                self._fixed[state].update_inplace(values)
            else:
                self._carried[state] = ort.OrtValue.ortvalue_from_numpy(values.copy(), self._device, 0)

    def _cut(self, state: State, value: Any, length: int) -> Any:
        assert state.position_axis is not None
        kept = (slice(None),) * state.position_axis + (slice(length),)
        return ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(value.numpy()[kept]), self._device, 0)

    def _bind_fixed(self, binding: Any) -> None:
        for state, buffer in self._fixed.items():
            binding.bind_ortvalue_input(state.input, buffer)
            binding.bind_ortvalue_output(state.output, buffer)

    def _run(self, ids: Sequence[int], options: Any) -> F32:
        rows = 1 if self._last_logits else len(ids)
        if rows != self._rows:
            self._logits = ort.OrtValue.ortvalue_from_shape_and_type((1, rows, self._vocab), np.float32, "cpu", 0)
            self._binding.bind_ortvalue_output("logits", self._logits)
            self._rows = rows
        self._binding.bind_cpu_input("input_ids", np.asarray([ids], np.int64))
        self._binding.bind_cpu_input("attention_mask", np.ones((1, self.past + len(ids)), np.int64))
        for state, value in self._carried.items():
            self._binding.bind_ortvalue_input(state.input, value)
            self._binding.bind_output(state.output, self._device)
        self._session.run_with_iobinding(self._binding, options)
        if self._carried:  # asking the binding for its outputs wraps each of them anew
            # in the order in which their names were bound first: fixed states, logits, the others
            made = self._binding.get_outputs()[-len(self._carried) :]
            self._carried = dict(zip(self._carried, made, strict=True))
        self.past += len(ids)
        logits: F32 = self._logits.numpy()[0].copy()  # a view of the buffer, which the next run overwrites
        return logits


class ReplayedDecoding(Decoding):
    """On a GPU: single tokens replay a captured CUDA graph, whose buffers keep their addresses and shapes."""

    def __init__(
        self, session: Any, states: Sequence[State], length: int, device: str, last_logits: bool, graph_id: int
    ) -> None:
        """As of `Decoding`, for states that are all in place; `graph_id` tells the session's sequences apart."""
        super().__init__(session, states, length, device, last_logits)
        self._graph_id = str(graph_id)
        self._captured = not self._marks[0]
        self._mask = np.zeros((1, length), np.int64)
        self._ids_there = ort.OrtValue.ortvalue_from_numpy(np.zeros((1, 1), np.int64), device, 0)
        self._mask_there = ort.OrtValue.ortvalue_from_numpy(self._mask, device, 0)
        self._row_there = ort.OrtValue.ortvalue_from_shape_and_type((1, 1, self._vocab), np.float32, device, 0)
        self._step = session.io_binding()
        self._step.bind_ortvalue_input("input_ids", self._ids_there)
        self._step.bind_ortvalue_input("attention_mask", self._mask_there)
        self._step.bind_ortvalue_output("logits", self._row_there)
        self._bind_fixed(self._step)

    def run(self, ids: Sequence[int]) -> F32:
        """As `Decoding.run`."""
        options = ort.RunOptions()
        if len(ids) != 1:
            options.add_run_config_entry("gpu_graph_id", NOT_REPLAYED)
            return self._run(ids, options)
        options.add_run_config_entry("gpu_graph_id", self._graph_id)
        self._mask[:, : self.past + 1] = 1
        self._mask_there.update_inplace(self._mask)
        self._ids_there.update_inplace(np.asarray([ids], np.int64))
        before = None if self._captured else self._unplaced()
        self._session.run_with_iobinding(self._step, options)
        if before:  # the run that captures executes several times: what such a state became is thrown away
            self._put(before)
            self._session.run_with_iobinding(self._step, options)
            self._captured = True
        self.past += 1
        row: F32 = self._row_there.numpy()[0]
        return row

    def rewind(self, length: int) -> None:
        """As `Decoding.rewind`; the mask, which a step only adds to, forgets the tokens as well."""
        super().rewind(length)
        self._mask[:, length:] = 0


def _empty(state: State, positions: int, device: str) -> Any:
    """What a state is before any token: zeros.

    Of room for positions nothing reads what is not there yet; but what is not a number in it, on a GPU, comes through.
    """
    shape, kind = state.sizes(positions), TYPES[state.dtype]
    if state.position_axis is not None and device == "cpu":
        return ort.OrtValue.ortvalue_from_shape_and_type(shape, kind, device, 0)
    if state.dtype != "bfloat16":
        return ort.OrtValue.ortvalue_from_numpy(np.zeros(shape, kind), device, 0)
    made = ort.OrtValue.ortvalue_from_shape_and_type(shape, kind, device, 0)
    made.update_inplace(np.zeros(shape, np.uint16))
    return made
