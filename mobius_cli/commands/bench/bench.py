"""`mobius bench`: prompt and generation speed in llama-bench's shape, beside llama.cpp when its file is given."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from converters.folder.manifest import MANIFEST, Manifest, read_manifest
from converters.target import Target
from mobius_cli.commands.bench.chart import picture
from mobius_cli.commands.bench.engine import LlamaCppEngine, open_llama_cpp
from mobius_cli.commands.bench.facts import run_facts
from mobius_cli.commands.bench.memory import DeviceMemory, peak_host_mb
from mobius_cli.commands.bench.options import FORMS
from mobius_cli.commands.bench.page import page
from mobius_cli.commands.bench.rows import NOISY, Row, Workload, report
from mobius_cli.commands.bench.table import as_csv, as_json, as_jsonl, markdown
from mobius_cli.commands.bench.timed_test import TimedTest
from mobius_cli.options import wanted_target
from mobius_cli.output import Advance, Output
from mobius_cli.reports.destination import destination
from mobius_cli.reports.wanted import Wanted
from mobius_cli.runtime.session import OnnxModel
from repack.errors import InputError

WRITERS: dict[str, Callable[[Sequence[Row], dict[str, Any]], str]] = dict(
    zip(FORMS, (markdown, as_csv, as_json, as_jsonl, page, picture), strict=True)
)


@dataclass(frozen=True)
class Request:
    """What was asked for.

    Attributes:
        gguf: the file for llama.cpp; None measures ONNX Runtime alone.
        repeat: samples per test, after one to warm up.
        ep: execution provider; None is the folder's.
        llama_server: path of llama-server; None looks for it.
        wanted: the form of the report, and where it goes.
        command: the command line, for the record.
    """

    folder: Path
    gguf: Path | None
    tests: Sequence[Workload]
    repeat: int
    threads: int
    ep: str | None
    llama_server: str | None
    wanted: Wanted
    command: str


def bench_folder(request: Request, output: Output) -> None:
    """Run every test `repeat` times after one warm-up, engines in alternation, and report the rows.

    Raises:
        InputError: the folder or the file cannot be read, a test does not fit the context, the report cannot be
            written where it was asked for.
        MobiusError: llama.cpp cannot run the file.
    """
    if request.gguf is not None and not request.gguf.is_file():
        if request.gguf.is_dir():
            raise InputError(
                f"{request.gguf}: is a folder, which llama.cpp cannot run", "give a GGUF, or leave --gguf out"
            )
        raise InputError(f"{request.gguf}: no such file", "check the path of --gguf")
    manifest = read_manifest(request.folder)
    target = wanted_target(request.ep or manifest.target.name)
    needed = [request.folder / name for name in (MANIFEST, *manifest.files)]
    with destination(request.wanted, output, needed) as put:
        rows, facts = _measured(request, target, manifest, output)
        for row in rows:
            for who in row.noisy:
                output.warning(f"{row.test.name}: {who} varies by more than {NOISY:.0%}; the machine is not quiet")
        put(WRITERS[request.wanted.form](rows, facts))
    output.result(report(rows, facts))


def _measured(request: Request, target: Target, manifest: Manifest, output: Output) -> tuple[list[Row], dict[str, Any]]:
    """All rows, and what they share."""
    on_gpu = target.device != "cpu"
    device = DeviceMemory(wanted=on_gpu)
    begin = time.perf_counter()
    model = OnnxModel(request.folder, ep=request.ep, threads=request.threads, last_logits=True)
    load_s = time.perf_counter() - begin
    longest = max(test.length for test in request.tests)
    if longest > model.context_length:
        raise InputError(f"a test needs {longest} tokens, the model was converted for {model.context_length}",
                         "choose smaller -p, -n and -d, or convert with a larger --context-length")  # fmt: skip
    rows = [Row(test) for test in request.tests]
    with ExitStack() as stack:
        engine = None
        if request.gguf is not None:
            engine = open_llama_cpp(
                stack, request.gguf, request.llama_server, threads=request.threads, longest=longest, on_gpu=on_gpu,
                vocab=manifest.vocab,
            )  # fmt: skip
        samples = len(rows) * (request.repeat + 1)
        advance = stack.enter_context(output.progress("measuring", samples, "samples"))
        for row in rows:
            measure(row, TimedTest(model, row.test, manifest.vocab), engine, request.repeat, advance, device)
        about = engine.about if engine else {"llama_cpp": None, "llama_cpp_engine": None}
    return rows, {
        **run_facts(request.folder, manifest, target, request.threads, request.command),
        "gpu_info": (device.name or target.device) if on_gpu else None,
        **about,
        "load_s": load_s,
        "peak_host_mb": peak_host_mb(),
        "peak_device_mb": device.peak_mb,
    }


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
