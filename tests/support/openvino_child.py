"""OpenVINO in a process of its own: its libraries and llama.cpp's do not live well together in one.

usage: python -m tests.support.openvino_child   answers each line of JSON, [MODEL, FEEDS.npz, LOGITS.npy], with a line
"""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
import traceback
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
# Without these, OpenVINO rounds activations in front of compressed weights to 8 bits.
EXACT = {
    "INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0", "INFERENCE_NUM_THREADS": "1",
}  # fmt: skip


def openvino_logits(model: Path, feeds: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Logits [batch, sequence, vocabulary] of an ONNX file."""
    given, found = model.with_suffix(".feeds.npz"), model.with_suffix(".logits.npy")
    np.savez(given, **feeds)
    process = _child()
    assert process.stdin and process.stdout
    print(json.dumps([str(model), str(given), str(found)]), file=process.stdin, flush=True)
    answer = process.stdout.readline()
    if not answer:
        _child.cache_clear()
    assert answer == '""\n', answer or f"OpenVINO's process ended with {process.wait()}"
    logits: np.ndarray[Any, np.dtype[np.float32]] = np.load(found)
    return logits


@cache
def _child() -> subprocess.Popen[str]:
    """One for all models of a test process: starting it takes most of a second."""
    command = [sys.executable, "-m", "tests.support.openvino_child"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(process.kill)
    return process


def main() -> None:
    import openvino

    core = openvino.Core()
    for line in sys.stdin:
        model, given, found = json.loads(line)
        try:
            np.save(found, core.compile_model(model, "CPU", EXACT)(dict(np.load(given)))["logits"])
            print('""', flush=True)
        except Exception:  # of any class: it is the caller's to show
            print(json.dumps(traceback.format_exc()[-2000:]), flush=True)


if __name__ == "__main__":
    main()
