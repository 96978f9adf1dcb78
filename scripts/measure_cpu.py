#!/usr/bin/env python3
"""Sizes, conversion, load and decode speed of GGUF files on this CPU, beside llama.cpp, as Markdown tables.

usage: python scripts/measure_cpu.py MODEL.gguf [MODEL.gguf ...]  [--threads 2] [--rounds 3] [--tokens 64]

Conversion and loading run in processes of their own, so that peak memory is theirs. Decoding alternates: a
round of ONNX Runtime, a round of llama-server, and so on, with the same thread count, prompt and number of
tokens; the best round of each counts, and the ratio is of those two.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROMPT = "The history of the lighthouse begins long before the first ships reached the northern coast"
LOAD = """
import sys, time
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
start, cpu = time.perf_counter(), time.process_time()
onnxruntime.InferenceSession(sys.argv[1] + "/model.onnx", options, providers=["CPUExecutionProvider"])
print(time.perf_counter() - start, time.process_time() - cpu)
"""


def run_measured(command: list[str]) -> tuple[str, float, float, float]:
    """Run a process: its stdout, wall seconds, CPU seconds, peak resident memory in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    script = (
        "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); sys.exit(code)"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, text=True)
    wall = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, wall, cpu, int(done.stderr.split()[-1]) / 1e3


def measure_folders(model: Path, work: Path, threads: int) -> list[list[str]]:
    """Convert with both storages and load each."""
    rows = []
    for storage in ("fast", "small"):
        folder = work / storage
        command = [sys.executable, "-m", "mobius_cli", "convert", str(model), "-o", str(folder), "--ep", "cpu"]
        _, wall, cpu, peak = run_measured([*command, "--storage", storage, "--force"])
        sizes = {p.name: p.stat().st_size for p in folder.iterdir()}
        weights = sizes["model.onnx"] + sizes["model.onnx_data"]
        loads = [run_measured([sys.executable, "-c", LOAD, str(folder), str(threads)]) for _ in range(3)]
        out, _, _, load_peak = min(loads, key=lambda found: float(found[0].split()[0]))
        seconds, load_cpu = map(float, out.split())
        total, source = sum(sizes.values()), model.stat().st_size
        rows.append(
            [model.name, storage,
             f"{weights / 1e6:.1f} ({weights / source:.3f})", f"{total / 1e6:.1f} ({total / source:.3f})",
             f"{wall:.1f}", f"{cpu:.1f}", f"{peak:.0f}", f"{seconds:.2f}", f"{load_cpu:.2f}", f"{load_peak:.0f}"]
        )  # fmt: skip
    return rows


def measure_copy(model: Path, work: Path) -> float:
    """Seconds that `cp` takes for the same file, into the same place."""
    start = time.perf_counter()
    subprocess.run(["cp", str(model), str(work / "copy")], check=True)
    seconds = time.perf_counter() - start
    (work / "copy").unlink()
    return seconds


def measure_decode(model: Path, folder: Path, threads: int, rounds: int, tokens: int) -> list[str]:
    """Greedy decoding in alternation: best of each, in tokens per second."""
    from mobius_cli.llama_cpp.server import LlamaServer, find_llama_server
    from mobius_cli.runtime.session import OnnxModel
    from mobius_cli.runtime.text import TextCodec

    ids = TextCodec(folder).encode(PROMPT)
    onnx = OnnxModel(folder, threads=threads, last_logits=True)
    ours: list[float] = []
    theirs: list[float] = []
    with LlamaServer(find_llama_server(None), model, context=1024, threads=threads) as server:
        for _ in range(rounds + 1):  # the first round warms up
            stream = onnx.greedy(ids, tokens)
            next(stream)
            start = time.perf_counter()
            count = sum(1 for _ in stream)
            ours.append(count / (time.perf_counter() - start))
            theirs.append(server.speed(ids, tokens)[1])
    best, other = max(ours[1:]), max(theirs[1:])
    every = " ".join(f"{a:.0f}/{b:.0f}" for a, b in zip(ours[1:], theirs[1:], strict=True))
    return [model.name, f"{best:.1f}", f"{other:.1f}", f"{best / other:.2f}", every]


def table(columns: list[str], rows: list[list[str]]) -> None:
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=64)
    given = parser.parse_args()
    folders, decode = [], []
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for model in given.models:
            copy = measure_copy(model, work)
            rows = measure_folders(model, work, given.threads)
            folders += [[*row, f"{copy:.2f}"] for row in rows]
            decode.append(measure_decode(model, work / "fast", given.threads, given.rounds, given.tokens))
            shutil.rmtree(work / "fast")
            shutil.rmtree(work / "small")
    table(
        ["file", "storage", "graph + weights, MB (ratio)", "folder, MB (ratio)", "convert s", "CPU s", "peak MB",
         "load s", "load CPU s", "load peak MB", "cp s"],
        folders,
    )  # fmt: skip
    table(["file", "ONNX Runtime tok/s", "llama.cpp tok/s", "ratio", "rounds"], decode)
    import onnxruntime

    print(json.dumps({"onnxruntime": onnxruntime.__version__, "threads": given.threads, "tokens": given.tokens}))


if __name__ == "__main__":
    main()
