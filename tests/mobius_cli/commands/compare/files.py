"""Results of `mobius bench` as files, written by hand in the shape that `test_bench.py` checks."""

import json
from pathlib import Path
from typing import Any

FACTS: dict[str, Any] = {
    "command": "mobius bench smol --json", "model_name": "SmolLM2", "model_filename": "smol",
    "model_type": "llama Q4_1", "model_size": 103_206_912, "model_n_params": 134_515_008, "backend": "ORT cpu",
    "cpu_info": "EPYC", "gpu_info": None, "n_threads": 2, "n_batch": 512, "mobius": "0.1.0", "onnxruntime": "1.32.0",
    "llama_cpp": "b7-abc", "llama_cpp_engine": "llama-server -ngl 0", "load_s": 0.25, "peak_host_mb": 290.0,
    "peak_device_mb": None,
}  # fmt: skip


def timed(
    prompt: int,
    generate: int,
    depth: int,
    ours: tuple[float, float],
    theirs: tuple[float, float] | None,
    noisy: str = "",
) -> dict[str, Any]:
    """A test of which only what `compare` reads is filled."""
    return {
        "n_prompt": prompt, "n_gen": generate, "n_depth": depth, "test_time": "2026-01-02T03:04:05Z",
        "avg_ts": ours[0], "stddev_ts": ours[1], "llama_cpp_avg_ts": theirs and theirs[0],
        "llama_cpp_stddev_ts": theirs and theirs[1], "noisy": noisy, "samples_ts": [1.0, 2.0],
    }  # fmt: skip


TESTS = [timed(512, 0, 0, (600.0, 6.0), (300.0, 3.0)), timed(0, 64, 0, (100.0, 2.0), (100.0, 1.0))]
FASTER = [
    timed(512, 0, 0, (900.0, 9.0), (300.0, 3.0)),
    timed(512, 0, 256, (450.0, 4.5), None),
    timed(0, 64, 0, (50.0, 60.0), (90.0, 1.0), "ONNX Runtime"),
]


def result(tests: list[dict[str, Any]] = TESTS, **facts: Any) -> dict[str, Any]:
    """As `mobius bench --json` prints it."""
    return {**FACTS, **facts, "tests": tests}


def rows(tests: list[dict[str, Any]] = TESTS, **facts: Any) -> list[dict[str, Any]]:
    """As `mobius bench -o json` prints it."""
    return [{**FACTS, **facts, **test} for test in tests]


def written(path: Path, content: Any) -> Path:
    """JSON in a file."""
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
