"""OpenVINO in a process of its own: its libraries and llama.cpp's do not live well together in one.

usage: python -m tests.support.openvino_child MODEL FEEDS.npz LOGITS.npy
"""

from __future__ import annotations

import subprocess
import sys
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
    command = [sys.executable, "-m", "tests.support.openvino_child", str(model), str(given), str(found)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    logits: np.ndarray[Any, np.dtype[np.float32]] = np.load(found)
    return logits


def main() -> None:
    import openvino

    model, given, found = sys.argv[1:]
    compiled = openvino.Core().compile_model(model, "CPU", EXACT)
    np.save(found, compiled(dict(np.load(given)))["logits"])


if __name__ == "__main__":
    main()
