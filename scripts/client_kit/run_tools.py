"""Tools that read graphs: onnx' checker and shape inference, onnxslim."""

import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from greedy import answer, greedy, job

asked = job()


def checker() -> dict[str, Any]:
    onnx.checker.check_model(asked["graph"], full_check=True)
    return {"ok": True}


def shapes() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "inferred.onnx"
        onnx.shape_inference.infer_shapes_path(asked["graph"], str(path), check_type=True, strict_mode=True)
        graph = onnx.load(path, load_external_data=False).graph
    known = {value.name for value in graph.value_info}
    unknown = [name for node in graph.node for name in node.output if name not in known]
    outputs = {value.name for value in graph.output}
    return {"ok": True, "note": f"{len([n for n in unknown if n not in outputs])} values without a shape"}


def slim() -> dict[str, Any]:
    import onnxslim

    model = onnxslim.slim(asked["graph"], model_check=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "slim.onnx"
        onnx.save(model, path, save_as_external_data=True, location="slim.onnx_data")
        session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]

        def run(feeds: dict[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
            return dict(zip(names, session.run(names, feeds), strict=True))

        rows = asked["ids"]["text"]
        return {"tokens": greedy(run, asked["states"], rows, asked["count"], "right")}


answer(f"onnx {onnx.__version__}, onnxslim {version('onnxslim')}", {"checker": checker, "shapes": shapes, "text": slim})
