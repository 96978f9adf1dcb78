"""A run of `mobius bench` that was written by hand, with all that must be escaped."""

from typing import Any

from mobius_cli.commands.bench.rows import Row, Workload

FACTS: dict[str, Any] = {
    "command": "mobius bench 'a b' -o <p>.html", "model_name": "<script>alert(1)</script> & co",
    "model_filename": "folder/<b>&'\"", "model_type": "llama <Q4_1>", "model_size": 3 << 29,
    "model_n_params": 1_500_000_000, "backend": "ORT cpu", "cpu_info": "A & B", "gpu_info": None, "n_threads": 2,
    "n_batch": 512, "mobius": "0.1.0", "onnxruntime": "1.32.0", "load_s": 0.314, "peak_host_mb": 291.4,
    "peak_device_mb": None, "llama_cpp": None, "llama_cpp_engine": None,
}  # fmt: skip
BESIDE = {"llama_cpp": "b7-abc", "llama_cpp_engine": "llama-bench CPU, -ngl 0"}
GPU = {"backend": "ORT cuda", "gpu_info": "NVIDIA X", "peak_device_mb": 812.3}
ROWS = [
    Row(Workload(512, 0, 0), [1000.0, 1024.0], [500.0, 512.0], "2026-01-02T03:04:05Z"),
    Row(Workload(512, 0, 9), [500.0], [], "2026-01-02T03:04:06Z"),
    Row(Workload(0, 64, 0), [100.0, 150.0], [250.0], "2026-01-02T03:04:07Z"),
]
