#!/usr/bin/env python3
"""Where a decode step's time goes: ONNX Runtime's profile by kind of operator, beside the memory-bandwidth floor.

usage: python scripts/profile_decode.py DIR [--ep cpu] [--threads 2] [--depth 64] [--steps 50]

The floor is what a step must read (all weights but the embedding's rows, and the filled cache) over the copy bandwidth
measured here with the same number of threads. Profiling itself adds a few microseconds to every node.
"""

import argparse
import json
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np


def profile(folder: Path, ep: str, threads: int, depth: int, steps: int) -> list[dict[str, Any]]:
    """Events of a profile of `steps` single tokens after `depth` others."""
    import onnxruntime as ort

    from converters.folder.manifest import read_manifest
    from converters.target import TARGETS
    from mobius_cli.runtime.decoding import Decoding

    target = TARGETS[ep]
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.enable_profiling = True
    with tempfile.TemporaryDirectory() as name:
        options.profile_file_prefix = f"{name}/profile"
        manifest = read_manifest(folder)
        session = ort.InferenceSession(str(folder / manifest.graph), options, providers=[target.provider])
        decoding = Decoding(session, manifest.states, depth + steps, target.device, last_logits=False)
        decoding.run([1] * depth)
        for _ in range(steps):
            decoding.run([1])
        events: list[dict[str, Any]] = json.loads(Path(session.end_profiling()).read_text())
    return events


def by_kind(events: list[dict[str, Any]], steps: int) -> tuple[float, Counter[str], Counter[str]]:
    """Microseconds of a step; microseconds and nodes by operator, the head's apart, in the last `steps` runs."""
    runs = [e for e in events if e["name"] == "model_run"][-steps:]
    since = runs[0]["ts"]
    time_of: Counter[str] = Counter()
    nodes: Counter[str] = Counter()
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time") and event["ts"] >= since:
            kind = event["args"]["op_name"] + (" (head)" if "/lm_head/" in event["name"] else "")
            time_of[kind] += event["dur"]
            nodes[kind] += 1
    return sum(e["dur"] for e in runs) / steps, time_of, nodes


def copy_bandwidth(threads: int) -> float:
    """Bytes per second read and written by `threads` copying threads, best of five."""
    sources = [np.ones(1 << 26, np.uint8) for _ in range(threads)]
    targets = [np.empty_like(source) for source in sources]
    best = 0.0
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(5):
            start = time.perf_counter()
            list(pool.map(np.copyto, targets, sources))
            best = max(best, 2 * threads * (1 << 26) / (time.perf_counter() - start))
    return best


def bytes_read(folder: Path, depth: int) -> int:
    """What one step must read: stored weights and filled cache."""
    from converters.folder.manifest import read_manifest

    manifest = read_manifest(folder)
    stored = {tensor.name: tensor.stored_bytes for tensor in manifest.tensors}
    weights = sum(stored.values())
    if not manifest.spec["tied_head"]:  # of an embedding of its own a step reads one row
        weights -= stored["token_embd.weight"]
    return weights + manifest.state_bytes(depth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ep", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--depth", type=int, default=64)
    parser.add_argument("--steps", type=int, default=50)
    given = parser.parse_args()
    events = profile(given.folder, given.ep, given.threads, given.depth, given.steps)
    step, time_of, nodes = by_kind(events, given.steps)
    print("| operator | us per step | share | nodes | us per node |\n|---|---|---|---|---|")
    for kind, total in time_of.most_common():
        count = nodes[kind]
        share = total / given.steps / step
        print(f"| {kind} | {total / given.steps:.0f} | {share:.1%} | {count // given.steps} | {total / count:.1f} |")
    rest = step - sum(time_of.values()) / given.steps
    print(f"| between nodes | {rest:.0f} | {rest / step:.1%} | - | - |")
    print(f"\nstep {step:.0f} us with profiling")
    if given.ep == "cpu":
        size, bandwidth = bytes_read(given.folder, given.depth), copy_bandwidth(given.threads)
        print(
            f"floor {size / bandwidth * 1e6:.0f} us: {size / 1e6:.1f} MB at {bandwidth / 1e9:.1f} GB/s (copy, measured)"
        )


if __name__ == "__main__":
    main()
