"""One sequence in a session: its cache, updated in place, and how far it is filled."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

F32 = npt.NDArray[np.float32]
# of ONNX Runtime's names: a numpy type, or ONNX's number where numpy has none
TYPES: dict[str, Any] = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(bfloat16)": 16}
NOT_REPLAYED = "-1"  # graph id of a run that is neither captured nor replayed


class Decoding:
    """One sequence: its cache, whose inputs and outputs are the same buffers, and how far it is filled."""

    def __init__(self, session: Any, length: int, device: str, last_logits: bool) -> None:
        self.past = 0
        self._session, self._last_logits = session, last_logits
        self._binding = session.io_binding()
        self._caches: dict[str, Any] = {}
        for cache in session.get_inputs():
            if cache.name.startswith("past_key_values."):
                _, heads, _, dim = cache.shape
                buffer = ort.OrtValue.ortvalue_from_shape_and_type(
                    (1, heads, length, dim), TYPES[cache.type], device, 0
                )
                self._caches[cache.name] = buffer
                self._binding.bind_ortvalue_input(cache.name, buffer)
                self._binding.bind_ortvalue_output(cache.name.replace("past_key_values", "present"), buffer)
        self._vocab = next(o.shape[2] for o in session.get_outputs() if o.name == "logits")
        self._logits: Any = None
        self._rows = 0

    def run(self, ids: Sequence[int]) -> F32:
        """Append tokens; float32 logits [len(ids), vocabulary], or of the last one only as the model was opened."""
        return self._run(ids, None)

    def rewind(self, length: int) -> None:
        """Keep the first `length` tokens only; what the cache holds behind them is never read again."""
        if not 0 <= length <= self.past:
            raise ValueError(f"cannot rewind from {self.past} tokens to {length}")
        self.past = length

    def _run(self, ids: Sequence[int], options: Any) -> F32:
        rows = 1 if self._last_logits else len(ids)
        if rows != self._rows:  # asking the binding for its outputs would wrap every cache buffer each time
            self._logits = ort.OrtValue.ortvalue_from_shape_and_type((1, rows, self._vocab), np.float32, "cpu", 0)
            self._binding.bind_ortvalue_output("logits", self._logits)
            self._rows = rows
        self._binding.bind_cpu_input("input_ids", np.asarray([ids], np.int64))
        self._binding.bind_cpu_input("attention_mask", np.ones((1, self.past + len(ids)), np.int64))
        self._session.run_with_iobinding(self._binding, options)
        self.past += len(ids)
        logits: F32 = self._logits.numpy()[0].copy()  # a view of the buffer, which the next run overwrites
        return logits


class GrowingDecoding:
    """A sequence of a model whose cache grows: each run's `present` is the next one's `past`, without a copy here."""

    def __init__(self, session: Any, device: str, last_logits: bool) -> None:
        self.past = 0
        self._session, self._device, self._last_logits = session, device, last_logits
        self._names = [output.name for output in session.get_outputs()]
        self._caches = {
            cache.name: ort.OrtValue.ortvalue_from_numpy(
                np.zeros((1, cache.shape[1], 0, cache.shape[3]), TYPES[cache.type]), device, 0
            )
            for cache in session.get_inputs()
            if cache.name.startswith("past_key_values.")
        }

    def run(self, ids: Sequence[int]) -> F32:
        """As `Decoding.run`."""
        binding = self._session.io_binding()
        binding.bind_cpu_input("input_ids", np.asarray([ids], np.int64))
        binding.bind_cpu_input("attention_mask", np.ones((1, self.past + len(ids)), np.int64))
        for name, value in self._caches.items():
            binding.bind_ortvalue_input(name, value)
        for name in self._names:
            binding.bind_output(name, "cpu" if name == "logits" else self._device)
        self._session.run_with_iobinding(binding)
        found = dict(zip(self._names, binding.get_outputs(), strict=True))
        logits: F32 = found.pop("logits").numpy()[0].copy()
        self._caches = {name.replace("present", "past_key_values"): value for name, value in found.items()}
        self.past += len(ids)
        return logits

    def rewind(self, length: int) -> None:
        """As `Decoding.rewind`; what is kept is copied."""
        if not 0 <= length <= self.past:
            raise ValueError(f"cannot rewind from {self.past} tokens to {length}")
        if length < self.past:
            self._caches = {
                name: ort.OrtValue.ortvalue_from_numpy(
                    np.ascontiguousarray(value.numpy()[:, :, :length]), self._device, 0
                )
                for name, value in self._caches.items()
            }
        self.past = length


class ReplayedDecoding(Decoding):
    """On a GPU: single tokens replay a captured CUDA graph, whose buffers keep their addresses and shapes."""

    def __init__(self, session: Any, length: int, device: str, last_logits: bool, graph_id: int) -> None:
        super().__init__(session, length, device, last_logits)
        self._graph_id = str(graph_id)
        self._mask = np.zeros((1, length), np.int64)
        self._ids_there = ort.OrtValue.ortvalue_from_numpy(np.zeros((1, 1), np.int64), device, 0)
        self._mask_there = ort.OrtValue.ortvalue_from_numpy(self._mask, device, 0)
        self._row_there = ort.OrtValue.ortvalue_from_shape_and_type((1, 1, self._vocab), np.float32, device, 0)
        self._step = session.io_binding()
        self._step.bind_ortvalue_input("input_ids", self._ids_there)
        self._step.bind_ortvalue_input("attention_mask", self._mask_there)
        self._step.bind_ortvalue_output("logits", self._row_there)
        for name, buffer in self._caches.items():
            self._step.bind_ortvalue_input(name, buffer)
            self._step.bind_ortvalue_output(name.replace("past_key_values", "present"), buffer)

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
        self._session.run_with_iobinding(self._step, options)
        self.past += 1
        row: F32 = self._row_there.numpy()[0]
        return row

    def rewind(self, length: int) -> None:
        """As `Decoding.rewind`; the mask, which a step only adds to, forgets the tokens as well."""
        super().rewind(length)
        self._mask[:, length:] = 0
