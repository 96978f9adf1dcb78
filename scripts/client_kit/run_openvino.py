"""OpenVINO on the CPU, with float activations as its model has them."""

import openvino
from greedy import Feeds, answer, greedy, job, texts_of

asked = job()
model = openvino.Core().compile_model(asked["graph"], "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
request = model.create_infer_request()


def run(feeds: Feeds) -> dict[str, object]:
    request.infer(feeds)
    return {output.any_name: request.get_tensor(output).data.copy() for output in model.outputs}


answer(
    openvino.__version__.split("-")[0],
    texts_of(asked, lambda rows: greedy(run, asked["states"], rows, asked["count"], asked["side"])),
)
