"""A manifest with something in every field, for tests that need no model."""

from dataclasses import replace
from typing import Any

import numpy as np

from converters.folder.manifest import Manifest, TargetRecord, Tool
from converters.folder.source_file import SourceFile
from converters.folder.tokenizer_record import TokenizerRecord
from converters.graph.routers import RouterRecord
from converters.graph.states import BATCH, PAST_LENGTH, State
from converters.weights.records import TensorRecord
from converters.weights.rounding import Rounding


def example(**changes: Any) -> Manifest:
    """Two layers, one of which has a state without positions."""
    cache = (BATCH, 2, PAST_LENGTH, 64)
    table = np.array([[1, 2], [3, 4]], np.int32)
    manifest = Manifest(
        tool=Tool("mobius-cli", "0.1.0", {"numpy": "2.0"}),
        source=(SourceFile("a.gguf", "ab" * 32, 1234), SourceFile("b.gguf", "cd" * 32, 99)),
        target=TargetRecord("cpu", "float32", "fast", 4, False, "matmulnbits", 512, False, "1.24.1"),
        metadata={"general.name": "tiny", "llama.table": table, "llama.list": ["é", 1]},
        tokenizer=TokenizerRecord(1, (2, 3), None, (7,), True, ("a tokenizer's warning",)),
        spec={"architecture": "llama", "vocab": 320, "hidden": 64, "tied_head": True, "layers": [{"block": 0}]},
        states=(
            State("key", 0, 0, "float16", cache, True),
            State("value", 0, 0, "float16", cache, True),
            State("conv", 1, 1, "float32", (BATCH, 96, 3), False),
        ),
        routers=(RouterRecord(1, 8, 2, 4, 1, "products", "scores", "choice", "experts"),),
        hidden="model/hidden",
        warnings=("a warning",),
        tensors=(
            TensorRecord("a", "Q4_K", (4, 256), 576, "int4, block 32 + offset", 700, "ab", 4,
                         roundings={"scale": Rounding(32, 3, 0.25, 1, 2)}),
            TensorRecord("b", "F32", (2,), 8, "folded into a table", values=[1.0, 0.5]),
        ),
        files={"model.onnx": 10, "model.onnx_data": 700},
        hashes={"model.onnx": "ef" * 32, "model.onnx_data": "01" * 32},
    )  # fmt: skip
    return replace(manifest, **changes)
