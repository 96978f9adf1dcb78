#!/usr/bin/env python3
"""Check the `cuda` target on a machine with a GPU: where nodes run, verdicts against saved references, decode speed.

usage: python scripts/gpu_check.py [--verify MODEL.gguf REFERENCE.json ...] ... [--random llama-1.5b ...] [--work DIR]

References come from `mobius verify --write-reference` on a machine with llama.cpp. `--random` writes models of
random weights (scripts/random_models.py) in a Q4_K_M-like mix (and Q4_0 and Q8_0) and measures prefill of 512 tokens
and decode at depth 128 with the cache in place and a CUDA graph.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from random_models import SHAPES, write_random


def cpu_nodes(folder: Path) -> list[str]:
    """Operators that ONNX Runtime places on the CPU, from the names in a profile of one run."""
    import onnxruntime as ort

    from converters.folder.manifest import read_manifest

    model = folder / read_manifest(folder).graph
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    session = ort.InferenceSession(str(model), options, providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    feed: dict[str, Any] = {"input_ids": np.ones((1, 4), np.int64), "attention_mask": np.ones((1, 4), np.int64)}
    feed |= {state.input: np.zeros(state.sizes(0), state.dtype) for state in read_manifest(folder).states}
    session.run(["logits"], feed)
    events = json.loads(Path(session.end_profiling()).read_text())
    places: dict[str, set[str]] = {}
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            places.setdefault(event["args"]["provider"], set()).add(event["args"]["op_name"])
    return sorted(places.get("CPUExecutionProvider", set()))


class Bench:
    """A session with a fixed cache on the GPU; decoding replays a CUDA graph."""

    def __init__(self, folder: Path, length: int, graph: bool = True) -> None:
        import onnxruntime as ort

        from converters.folder.manifest import read_manifest
        from mobius_cli.runtime.patch import patched

        self.ort, self.length = ort, length
        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
        provider = ("CUDAExecutionProvider", {"enable_cuda_graph": "1" if graph else "0"})
        start = time.perf_counter()
        manifest = read_manifest(folder)
        data = patched(folder / manifest.graph, last_of=manifest.hidden)  # as a server asks for them
        self.session = ort.InferenceSession(data, options, providers=[provider, "CPUExecutionProvider"])
        self.load_seconds = time.perf_counter() - start
        self.caches = {
            state: ort.OrtValue.ortvalue_from_numpy(np.zeros(state.sizes(length), state.dtype), "cuda", 0)
            for state in manifest.states
        }
        self.vocab = next(o.shape[2] for o in self.session.get_outputs() if o.name == "logits")

    def bind(self, tokens: int) -> Any:
        """A binding with static buffers for `tokens` input tokens and the whole mask."""
        ort, binding = self.ort, self.session.io_binding()
        self.ids = ort.OrtValue.ortvalue_from_numpy(np.ones((1, tokens), np.int64), "cuda", 0)
        self.mask = ort.OrtValue.ortvalue_from_numpy(np.zeros((1, self.length), np.int64), "cuda", 0)
        logits = ort.OrtValue.ortvalue_from_shape_and_type((1, 1, self.vocab), np.float32, "cuda", 0)
        binding.bind_ortvalue_input("input_ids", self.ids)
        binding.bind_ortvalue_input("attention_mask", self.mask)
        binding.bind_ortvalue_output("logits", logits)
        for state, buffer in self.caches.items():
            binding.bind_ortvalue_input(state.input, buffer)
            binding.bind_ortvalue_output(state.output, buffer)
        return binding

    def run(self, binding: Any, total: int, graph_id: str) -> float:
        """Seconds of a run after which `total` positions are filled."""
        mask = np.zeros((1, self.length), np.int64)
        mask[:, :total] = 1
        self.mask.update_inplace(mask)
        options = self.ort.RunOptions()
        options.add_run_config_entry("gpu_graph_id", graph_id)
        start = time.perf_counter()
        self.session.run_with_iobinding(binding, options)
        return time.perf_counter() - start


def speeds(folder: Path) -> dict[str, float]:
    """tokens/s of prefill 512 and of decoding at depth 128 (medians), and load seconds."""
    bench = Bench(folder, 1024)
    prefill = bench.bind(512)
    times = [bench.run(prefill, 512, "-1") for _ in range(12)]
    decode = bench.bind(1)
    steps = [bench.run(decode, 129 + i, "1") for i in range(160)]
    return {
        "prefill tok/s": 512 / float(np.median(times[2:])),
        "decode tok/s": 1 / float(np.median(steps[20:])),
        "load s": bench.load_seconds,
    }


def main() -> None:
    from converters.pipeline import convert
    from converters.plan import make_plan
    from converters.sources.gguf.file import GgufFile
    from converters.target import choose_target

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verify", nargs="+", action="append", default=[], metavar=("GGUF", "REFERENCE"))
    parser.add_argument("--random", nargs="*", default=[], choices=list(SHAPES))
    parser.add_argument("--mixes", nargs="*", default=["q4_k_m", "q4_0", "q8_0"])
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "mobius-gpu")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    for model, *references in given.verify:
        folder = given.work / Path(model).stem
        for command in (
            ["convert", model, "-o", str(folder), "--ep", "cuda", "--force"],
            *(["verify", str(folder), "--reference", reference, "--ep", "cuda"] for reference in references),
            ["bench", str(folder), "--ep", "cuda", "-p", "512", "-n", "128", "-d", "0,512"],
        ):
            print("$ mobius", *command, flush=True)
            subprocess.run([sys.executable, "-m", "mobius_cli", *command], check=False)
        print("on the CPU:", cpu_nodes(folder), flush=True)
        print(Path(model).name, {k: round(v, 1) for k, v in speeds(folder).items()}, flush=True)
    for size in given.random:
        for mix in given.mixes:
            path, folder = given.work / f"{size}-{mix}.gguf", given.work / f"{size}-{mix}"
            write_random(path, size, mix)
            with GgufFile.open(path) as source:
                plan = make_plan(source, choose_target("cuda"))
                convert(plan, folder, force=True)
            found = {k: round(v, 1) for k, v in speeds(folder).items()}
            nodes = len(plan.graph.nodes)
            print(size, mix, f"{path.stat().st_size / 1e9:.2f} GB file, {nodes} nodes", found, flush=True)
            path.unlink()
            (folder / "model.onnx_data").unlink()


if __name__ == "__main__":
    main()
