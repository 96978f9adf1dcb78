"""Plain ONNX Runtime, as anyone would call it."""

import onnxruntime as ort
from greedy import Feeds, answer, greedy, job, texts_of

asked = job()
options = ort.SessionOptions()
options.log_severity_level = 3
session = ort.InferenceSession(asked["graph"], options, providers=["CPUExecutionProvider"])
names = [output.name for output in session.get_outputs()]


def run(feeds: Feeds) -> dict[str, object]:
    return dict(zip(names, session.run(names, feeds), strict=True))


answer(ort.__version__, texts_of(asked, lambda rows: greedy(run, asked["states"], rows, asked["count"], asked["side"])))
