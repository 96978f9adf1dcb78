#!/usr/bin/env python3
"""Speed and loading of every quantized type on this CPU, as ratios within one run, as a Markdown table.

usage: python scripts/bench_types.py [TYPE ...] [--matrices 6] [--threads 2] [--json FILE]

Columns M=1 and M=128: CPU time of one matrix product (4096 x 4096, accuracy level 4, one thread, correction
included), median of interleaved runs, over that of Q4_0 in the same process. Load columns: a session on
`--matrices` such matrices in a process of its own: seconds and peak memory per billion weights of both storages,
and the ratio of `fast` to plain final inputs (float32 scales).
"""

import argparse
import dataclasses
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

SIZE = 4096
LOAD = """
import sys, time, onnxruntime

def peak():  # of this process image; ru_maxrss would count the parent before exec
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
base, start = peak(), time.perf_counter()
onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
print(time.perf_counter() - start, peak() - base)
"""


def write_matrices(name: str, folder: Path, storage: str, count: int, plain: bool = False) -> Path:
    """A graph of `count` matrices of one type, each multiplied with the same input."""
    from converters.graph.context import GraphContext
    from converters.graph.graph import Graph
    from converters.graph.onnx_file import write_graph
    from converters.operators import OPERATOR_SETS
    from converters.target import choose_target
    from converters.weights.matmulnbits import MatMulNBits
    from converters.weights.matrix import StoredRows
    from converters.weights.records import TensorRecord
    from repack.block_quantized import BlockQuantized, layout_of
    from repack.registry import QUANT_TYPES

    quant = QUANT_TYPES[name]
    if plain:
        quant = dataclasses.replace(quant, float16_scale=None)
    layout = layout_of(quant, SIZE, SIZE, name)
    weights, size = quant.gguf_block
    rng = np.random.default_rng(0)
    raw = rng.integers(0, 64, (SIZE, SIZE // weights * size), dtype=np.uint8)  # small bytes: finite scales
    target, graph = choose_target("cpu", storage=storage), Graph("bench")
    context = GraphContext(graph, target, OPERATOR_SETS[target.operators], 1)
    x = graph.input("x", "float32", ("tokens", SIZE))
    for index in range(count):
        record = TensorRecord(f"w{index}", name, (SIZE, SIZE), raw.nbytes)
        part = StoredRows(record, layout, lambda: BlockQuantized(quant, layout, raw))
        matrix = MatMulNBits().emit(context, f"w{index}", [part], gathered=False)
        x3 = graph.op("Unsqueeze", x, graph.ints(0))
        graph.output(matrix.product(context, x3), f"y{index}", "float32", (1, "tokens", SIZE))
    folder.mkdir()
    write_graph(graph, folder, {}, ("bench", "0"))
    return folder / "model.onnx"


def measure_load(model: Path, threads: int, weights: int) -> tuple[float, float]:
    """Seconds and GB per billion weights, best of three."""
    runs = []
    for _ in range(3):
        out = subprocess.run(
            [sys.executable, "-c", LOAD, str(model), str(threads)], capture_output=True, text=True, check=True
        )
        seconds, kilobytes = map(float, out.stdout.split())
        runs.append((seconds * 1e9 / weights, kilobytes * 1e3 / weights))
    return min(runs)


def measure_products(models: dict[str, Path], tokens: int, rounds: int) -> dict[str, float]:
    """Median CPU seconds of a product of `tokens` rows, types interleaved."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    sessions = {n: ort.InferenceSession(str(p), options, providers=["CPUExecutionProvider"]) for n, p in models.items()}
    x = np.random.default_rng(1).normal(size=(tokens, SIZE)).astype(np.float32)
    times: dict[str, list[float]] = {name: [] for name in models}
    for turn in range(rounds + 2):
        for name, session in sessions.items():
            start = time.thread_time()
            session.run(["y0"], {"x": x})
            if turn >= 2:
                times[name].append(time.thread_time() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> None:
    from repack.registry import QUANT_TYPES

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("types", nargs="*", help="default: all")
    parser.add_argument("--matrices", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    names = given.types or list(QUANT_TYPES)
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        single = {n: write_matrices(n, work / f"{n}-1", "fast", 1) for n in dict.fromkeys(["Q4_0", *names])}
        speeds = {m: measure_products(single, m, rounds) for m, rounds in ((1, 40), (128, 5))}
        for name in names:
            weights = given.matrices * SIZE * SIZE
            found: dict[str, tuple[float, float]] = {}
            for label, storage, plain in (("fast", "fast", False), ("small", "small", False), ("final", "fast", True)):
                model = write_matrices(name, work / f"{name}-{label}", storage, given.matrices, plain)
                found[label] = measure_load(model, given.threads, weights)
                (model.parent / "model.onnx_data").unlink()
            rows[name] = {
                "m1": speeds[1][name] / speeds[1]["Q4_0"],
                "m128": speeds[128][name] / speeds[128]["Q4_0"],
                **{f"{k} load s": v[0] for k, v in found.items()},
                **{f"{k} peak GB": v[1] for k, v in found.items()},
                "load ratio": found["fast"][0] / found["final"][0],
                "peak ratio": found["fast"][1] / found["final"][1],
            }
            print(name, {k: round(v, 2) for k, v in rows[name].items()}, file=sys.stderr, flush=True)
    columns = list(next(iter(rows.values())))
    print("| type | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 1))
    for name, row in rows.items():
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in row.values()) + " |")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
