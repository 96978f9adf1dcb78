"""Where in a model folder the graph stands: beside all else, or where the programs of model hubs look for it."""

from dataclasses import dataclass

from repack.errors import InputError

LAYOUTS = ("flat", "hub")
HUB_FOLDER = "onnx"  # transformers.js looks in no other folder unless its caller says so
# transformers.js names types its own way, and chooses a file by what stands between "model" and ".onnx".
_HUB_TYPES = {"float32": ("fp32", ""), "float16": ("fp16", "_fp16")}


@dataclass(frozen=True)
class GraphFiles:
    """The files of a written graph, by their paths inside of the folder.

    Attributes:
        model: the graph; its external data stands beside it.
        js_dtype: the type that transformers.js is told, so that it finds the graph.
    """

    model: str
    js_dtype: str

    @property
    def data(self) -> str:
        """The external data."""
        return data_of(self.model)


FLAT = GraphFiles("model.onnx", "fp32")  # whatever the graph's type: "fp32" is the name without an addition


def data_of(model: str) -> str:
    """The external data of a graph: the name that transformers.js looks for, and everyone else reads in the graph."""
    return f"{model}_data"


def graph_files(layout: str, dtype: str) -> GraphFiles:
    """The files for a layout and a type of activations.

    Raises:
        InputError: there is no such layout, or it has no name for the type.
    """
    if layout not in LAYOUTS:
        raise InputError(f"--layout {layout!r} is not known", f"choose one of: {', '.join(LAYOUTS)}")
    if layout == "flat":
        return FLAT
    if dtype not in _HUB_TYPES:
        raise InputError(
            f"--layout {layout} has no file name for {dtype}, which transformers.js does not know",
            f"use --dtype {' or '.join(_HUB_TYPES)}, or --layout flat",
        )
    name, addition = _HUB_TYPES[dtype]
    return GraphFiles(f"{HUB_FOLDER}/model{addition}.onnx", name)


def every_graph_file() -> frozenset[str]:
    """The names that any layout may give."""
    named = [FLAT, *(graph_files("hub", dtype) for dtype in _HUB_TYPES)]
    return frozenset(name for files in named for name in (files.model, files.data))
