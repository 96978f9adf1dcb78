"""A copy of a model folder in which something is wrong, and whose manifest knows the sizes of its files as they are."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

VIEWS = {1: np.float32, 2: np.uint8, 3: np.int8, 7: np.int64, 10: np.float16, 11: np.float64}  # TensorProto's types


class PlantedFolder:
    """What a fault may touch: arrays by name, the graph, and JSON files; `save` writes all of it."""

    def __init__(self, folder: Path, copy: Path) -> None:
        shutil.copytree(folder, copy)
        self.path = copy
        self.model = onnx.load(copy / "model.onnx", load_external_data=False)
        self.data = np.fromfile(copy / "model.onnx_data", np.uint8)
        self.arrays: dict[str, NDArray[Any]] = {}

    def tensor(self, name: str) -> onnx.TensorProto:
        """An initializer."""
        return next(one for one in self.model.graph.initializer if one.name == name)

    def raw(self, name: str) -> NDArray[np.uint8]:
        """The bytes of an initializer, to be changed in place."""
        tensor = self.tensor(name)
        known = {entry.key: entry.value for entry in tensor.external_data}
        if known:
            return self.data[int(known["offset"]) :][: int(known["length"])]
        return self.arrays.setdefault(name, np.frombuffer(tensor.raw_data, np.uint8).copy())

    def array(self, name: str) -> NDArray[Any]:
        """The numbers of an initializer, to be changed in place."""
        tensor, raw = self.tensor(name), self.raw(name)
        return raw.view(VIEWS[tensor.data_type]).reshape(list(tensor.dims))

    def node(self, name: str) -> onnx.NodeProto:
        """The node whose name ends so."""
        return next(one for one in self.model.graph.node if one.name.endswith(name))

    def attribute(self, node: str, name: str) -> onnx.AttributeProto:
        """Of a node whose name ends so."""
        return next(one for one in self.node(node).attribute if one.name == name)

    def json(self, name: str, change: Callable[[Any], Any]) -> None:
        """Change what a JSON file holds, in place."""
        content = json.loads((self.path / name).read_text())
        change(content)
        (self.path / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    def save(self) -> Path:
        """Write the graph and its data; the manifest takes any size."""
        for name, raw in self.arrays.items():
            self.tensor(name).raw_data = raw.tobytes()
        (self.path / "model.onnx").write_bytes(self.model.SerializeToString())
        self.data.tofile(self.path / "model.onnx_data")
        manifest = json.loads((self.path / "mobius.json").read_text())
        for file in manifest["files"]:
            manifest["files"][file] = (self.path / file).stat().st_size
        (self.path / "mobius.json").write_text(json.dumps(manifest))
        return self.path
