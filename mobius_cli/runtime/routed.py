"""A folder with a mixture of experts in ONNX Runtime, its routers laid open: what they chose, and other choices."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from converters.graph.routers import RouterRecord
from converters.graph.states import State
from mobius_cli.judging.routing import Forced, Routing
from mobius_cli.runtime.decoding import Decoding
from mobius_cli.runtime.open_router import forced_input
from mobius_cli.runtime.session import OnnxModel
from mobius_cli.runtime.token_cache import CHUNK

F32 = npt.NDArray[np.float32]


class RoutedModel(OnnxModel):
    """As `OnnxModel`; a pass also takes choices of experts, and gives those of every router."""

    def __init__(self, folder: Path, *, ep: str | None, threads: int, accuracy_level: int | None) -> None:
        """Load the folder, as `OnnxModel` does."""
        super().__init__(folder, ep=ep, threads=threads, accuracy_level=accuracy_level, routers=True)

    def route(self, ids: Sequence[int], first: int, forced: Forced) -> tuple[F32, list[Routing]]:
        """Logits as of `logits`, and what each router did at all positions, with `forced` choices."""
        records = self.manifest.routers
        wanted = [np.full((len(ids), record.used), -1, np.int64) for record in records]
        for (router, position), experts in forced.items():
            wanted[router][position] = experts
        decoding = _RoutedDecoding(self._session, self.manifest.states, len(ids), self._target.device, records, wanted)
        rows = []
        for start in range(0, len(ids), CHUNK):
            rows.append(decoding.run(ids[start : start + CHUNK])[max(0, first - start) :])
        return np.concatenate(rows), [decoding.routing(record) for record in records]


class _RoutedDecoding(Decoding):
    """One sequence; what the routers did is kept piece by piece."""

    def __init__(
        self,
        session: Any,
        states: Sequence[State],
        length: int,
        device: str,
        routers: Sequence[RouterRecord],
        wanted: Sequence[npt.NDArray[np.int64]],
    ) -> None:
        super().__init__(session, states, length, device, last_logits=False)
        self._wanted = wanted
        self._shapes: Mapping[str, tuple[int, Any]] = {
            **{name: (r.count, np.float32) for r in routers for name in (r.products, r.scores, r.choice)},
            **{r.experts: (r.used, np.int64) for r in routers},
        }
        self._pieces: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in self._shapes}

    def routing(self, record: RouterRecord) -> Routing:
        """What one router did so far."""
        names = (record.products, record.scores, record.choice, record.experts)
        return Routing(record, *(np.concatenate(self._pieces[name]) for name in names))

    def _run(self, ids: Sequence[int], options: Any) -> F32:
        for index, wanted in enumerate(self._wanted):
            piece = np.ascontiguousarray(wanted[None, self.past : self.past + len(ids)])
            self._binding.bind_cpu_input(forced_input(index), piece)
        made = {}
        for name, (width, kind) in self._shapes.items():  # bound before the states that the base class binds
            made[name] = ort.OrtValue.ortvalue_from_shape_and_type((1, len(ids), width), kind, "cpu", 0)
            self._binding.bind_ortvalue_output(name, made[name])
        logits = super()._run(ids, options)
        for name, value in made.items():
            self._pieces[name].append(value.numpy()[0].copy())
        return logits
