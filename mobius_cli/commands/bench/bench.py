"""`mobius bench`: prompt and generation speed in llama-bench's shape, beside llama.cpp when its file is given."""

import math
import platform
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from converters.folder.layout import data_of
from converters.folder.manifest import read_manifest
from converters.target import Target
from mobius_cli.commands.bench.chart import picture
from mobius_cli.commands.bench.engine import LlamaCppEngine, open_llama_cpp
from mobius_cli.commands.bench.memory import DeviceMemory, peak_host_mb
from mobius_cli.commands.bench.page import page
from mobius_cli.commands.bench.rows import NOISY, Row, Workload, report
from mobius_cli.commands.bench.table import as_csv, as_json, as_jsonl, markdown
from mobius_cli.commands.bench.timed_test import PASS, TimedTest
from mobius_cli.options import wanted_target
from mobius_cli.output import Advance, Output
from mobius_cli.runtime.session import OnnxModel
from repack.errors import InputError

FORMATS = {"md": markdown, "csv": as_csv, "json": as_json, "jsonl": as_jsonl, "html": page, "svg": picture}


def bench_folder(
    folder: Path,
    gguf: Path | None,
    output: Output,
    *,
    tests: Sequence[Workload],
    repeat: int,
    threads: int,
    ep: str | None,
    llama_server: str | None,
    form: str,
) -> None:
    """Run every test `repeat` times after one warm-up, engines in alternation, and print the rows.

    Raises:
        InputError: the folder or the file cannot be read, `form` is none of FORMATS, a test does not fit the context.
        MobiusError: llama.cpp cannot run the file.
    """
    if form not in FORMATS:
        raise InputError(f"-o {form!r} is not known", f"choose one of: {', '.join(FORMATS)}")
    if gguf is not None and not gguf.is_file():
        raise InputError(f"{gguf}: no such file", "check the path of --gguf")
    target = wanted_target(ep or read_manifest(folder).target.name)
    on_gpu = target.device != "cpu"
    device = DeviceMemory(wanted=on_gpu)
    begin = time.perf_counter()
    model = OnnxModel(folder, ep=ep, threads=threads, last_logits=True)
    load_s = time.perf_counter() - begin
    longest = max(test.length for test in tests)
    if longest > model.context_length:
        raise InputError(f"a test needs {longest} tokens, the model was converted for {model.context_length}",
                         "choose smaller -p, -n and -d, or convert with a larger --context-length")  # fmt: skip
    vocab = model.manifest.vocab
    rows = [Row(test) for test in tests]
    with ExitStack() as stack:
        engine = None
        if gguf is not None:
            engine = open_llama_cpp(
                stack, gguf, llama_server, threads=threads, longest=longest, on_gpu=on_gpu, vocab=vocab
            )
        advance = stack.enter_context(output.progress("measuring", len(rows) * (repeat + 1), "samples"))
        for row in rows:
            measure(row, TimedTest(model, row.test, vocab), engine, repeat, advance, device)
        about = engine.about if engine else {"llama_cpp": None, "llama_cpp_engine": None}
    measured = {"load_s": load_s, "peak_host_mb": peak_host_mb(), "peak_device_mb": device.peak_mb}
    gpu_info = (device.name or target.device) if on_gpu else None
    for row in rows:
        for who in row.noisy:
            output.warning(f"{row.test.name}: {who} varies by more than {NOISY:.0%}; the machine is not quiet")
    facts = {**_facts(model, target, threads), "gpu_info": gpu_info, **about, **measured}
    output.data(FORMATS[form](rows, facts))
    output.result(report(rows, facts))


def measure(
    row: Row, ours: TimedTest, engine: LlamaCppEngine | None, repeat: int, advance: Advance, device: DeviceMemory
) -> None:
    """Fill a row: both engines warm up, then take turns."""
    row.test_time = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    ours.sample()  # on a GPU this also captures the graph
    if engine is not None:
        engine.warm_up(row.test)
    advance(1, row.test.name)
    for _ in range(repeat):
        row.ours.append(ours.sample())
        if engine is not None and (theirs := engine.sample(row.test)) is not None:
            row.theirs.append(theirs)
        advance(1, row.test.name)
    device.look()


def _facts(model: OnnxModel, target: Target, threads: int) -> dict[str, Any]:
    """What is the same in every row, under llama-bench's field names where they mean the same."""
    import onnxruntime

    manifest = model.manifest
    weights: Counter[str] = Counter()
    for tensor in manifest.tensors:
        weights[tensor.source_type] += math.prod(tensor.shape)
    return {
        "model_filename": str(model.folder),
        "model_type": f"{manifest.architecture} {weights.most_common(1)[0][0]}",
        "model_size": manifest.files[data_of(manifest.graph)],
        "model_n_params": weights.total(),
        "backend": f"ORT {target.name}",
        "cpu_info": _processor(),
        "n_threads": threads,
        "n_batch": PASS,
        "onnxruntime": onnxruntime.__version__,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()
