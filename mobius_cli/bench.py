"""`mobius bench`: prompt and generation speed in llama-bench's shape, beside llama.cpp when its file is given."""

import json
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from converters.package import DATA
from mobius_cli.output import Output
from mobius_cli.runtime.llama_server import LlamaServer, find_llama_server
from mobius_cli.runtime.session import OnnxModel
from repack.errors import MobiusError

FORMATS = ("md", "csv", "json", "jsonl")
NOISY = 0.1  # standard deviation over mean from which a row is flagged
PASS = 512  # prompt tokens per pass, as llama.cpp's default micro-batch


@dataclass(frozen=True)
class Workload:
    """`prompt` tokens processed, or `generate` tokens decoded one by one, after `depth` tokens in the cache."""

    prompt: int
    generate: int
    depth: int

    @property
    def name(self) -> str:
        """As llama-bench names it: pp512, tg128, with the depth where there is one."""
        kind = f"pp{self.prompt}" if self.prompt else f"tg{self.generate}"
        return kind + (f" @ d{self.depth}" if self.depth else "")


@dataclass
class Row:
    """Samples of one test, in tokens per second, of ONNX Runtime and (or none) of llama.cpp."""

    test: Workload
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float | None:
        """Mean over llama.cpp's mean."""
        return statistics.mean(self.ours) / statistics.mean(self.theirs) if self.theirs else None


def all_tests(prompts: Sequence[int], generates: Sequence[int], depths: Sequence[int]) -> list[Workload]:
    """Every prompt length and every number of generated tokens at every depth; zeros are left out."""
    tests = [Workload(p, 0, d) for d in depths for p in prompts if p > 0]
    return tests + [Workload(0, n, d) for d in depths for n in generates if n > 0]


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
        MobiusError: a test does not fit the context, or llama.cpp cannot run the file.
    """
    model = OnnxModel(folder, ep=ep, threads=threads, last_logits=True)
    longest = max(t.depth + t.prompt + t.generate for t in tests)
    if longest > model.context_length:
        raise MobiusError(f"a test needs {longest} tokens, the model was converted for {model.context_length}",
                          "choose smaller -p, -n and -d, or convert with a larger --context-length")  # fmt: skip
    rows = [Row(test) for test in tests]
    with ExitStack() as stack:
        server = None
        if gguf is not None:
            binary = find_llama_server(llama_server)
            server = stack.enter_context(LlamaServer(binary, gguf, context=longest + 16, threads=threads))
        total = len(rows) * (repeat + 1)
        advance = stack.enter_context(output.progress("measuring", total))
        for row in rows:
            for turn in range(repeat + 1):  # the first warms up
                ours = _ours(model, row.test)
                theirs = _theirs(server, row.test, model.manifest["spec"]["vocab"]) if server else None
                if turn:
                    row.ours.append(ours)
                    if theirs is not None:
                        row.theirs.append(theirs)
                advance(1, row.test.name)
        build = server.build if server else None
    _print(rows, _facts(model, folder, threads, build), output, form)


def _tokens(count: int, vocab: int) -> list[int]:
    """Random token ids, the same in every run."""
    return [int(t) for t in np.random.default_rng(0).integers(0, vocab, count)]


def _ours(model: OnnxModel, test: Workload) -> float:
    """Tokens per second, without tokenization and sampling, as llama-bench counts."""
    vocab = model.manifest["spec"]["vocab"]
    ids = _tokens(test.depth + test.prompt + test.generate, vocab)
    decoding = model.start(len(ids))
    for start in range(0, test.depth, PASS):
        decoding.run(ids[start : min(start + PASS, test.depth)])
    begin = time.perf_counter()
    step = PASS if test.prompt else 1
    for start in range(test.depth, len(ids), step):
        decoding.run(ids[start : start + step])
    return (test.prompt + test.generate) / (time.perf_counter() - begin)


def _theirs(server: LlamaServer, test: Workload, vocab: int) -> float | None:
    """llama-server's own timings; it cannot say how fast a prompt is behind a depth."""
    if test.prompt:
        return server.speed(_tokens(test.prompt, vocab), 1)[0] if not test.depth else None
    return server.speed(_tokens(max(1, test.depth), vocab), test.generate)[1]


def _facts(model: OnnxModel, folder: Path, threads: int, build: str | None) -> dict[str, Any]:
    """What is the same in every row, under llama-bench's field names where they mean the same."""
    import onnxruntime

    manifest = model.manifest
    weights: Counter[str] = Counter()
    for tensor in manifest["tensors"]:
        weights[tensor["source_type"]] += math.prod(tensor["shape"])
    count = weights.total()
    size = f"{count / 1e9:.2f} B" if count >= 1e9 else f"{count / 1e6:.2f} M"
    return {
        "model_filename": str(folder),
        "model_type": f"{manifest['spec']['architecture']} {weights.most_common(1)[0][0]}",
        "model_size": (folder / DATA).stat().st_size,
        "model_n_params": count,
        "params": size,
        "backend": f"ORT {manifest['target']['name']}",
        "n_threads": threads or "auto",
        "onnxruntime": onnxruntime.__version__,
        "llama_cpp": build,
    }


def _print(rows: list[Row], facts: dict[str, Any], output: Output, form: str) -> None:
    for row in rows:
        for who, samples in (("ONNX Runtime", row.ours), ("llama.cpp", row.theirs)):
            if len(samples) > 1 and statistics.stdev(samples) > NOISY * statistics.mean(samples):
                output.warning(f"{row.test.name}: {who} varies by more than {NOISY:.0%}; the machine is not quiet")
    {"md": _markdown, "csv": _csv, "json": _json, "jsonl": _jsonl}[form](rows, facts, output.data)


def _speed(samples: list[float]) -> str:
    spread = statistics.stdev(samples) if len(samples) > 1 else 0.0
    return f"{statistics.mean(samples):.2f} ± {spread:.2f}" if samples else "-"


def _markdown(rows: list[Row], facts: dict[str, Any], emit: Callable[[str], None]) -> None:
    beside = facts["llama_cpp"] is not None
    columns = ["model", "size", "params", "backend", "threads", "test", "t/s"]
    columns += ["llama.cpp t/s", "ratio"] if beside else []
    table = [columns, ["---"] * 5 + ["---:"] * (len(columns) - 5)]
    for row in rows:
        cells = [facts["model_type"], f"{facts['model_size'] / 2**20:.2f} MiB", facts["params"], facts["backend"]]
        cells += [str(facts["n_threads"]), row.test.name, _speed(row.ours)]
        if beside:
            cells += [_speed(row.theirs), f"{row.ratio:.2f}" if row.ratio else "-"]
        table.append(cells)
    widths = [max(len(line[i]) for line in table) for i in range(len(columns))]
    for line in table:
        emit("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |")
    emit("")
    emit(f"onnxruntime {facts['onnxruntime']}" + (f", llama.cpp {facts['llama_cpp']}" if beside else ""))


def _records(rows: list[Row], facts: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            **facts,
            "n_prompt": row.test.prompt,
            "n_gen": row.test.generate,
            "n_depth": row.test.depth,
            "avg_ts": statistics.mean(row.ours),
            "stddev_ts": statistics.stdev(row.ours) if len(row.ours) > 1 else 0.0,
            "samples_ts": row.ours,
            "llama_cpp_samples_ts": row.theirs,
            "ratio": row.ratio,
        }
        for row in rows
    ]


def _json(rows: list[Row], facts: dict[str, Any], emit: Callable[[str], None]) -> None:
    emit(json.dumps(_records(rows, facts), indent=2))


def _jsonl(rows: list[Row], facts: dict[str, Any], emit: Callable[[str], None]) -> None:
    for record in _records(rows, facts):
        emit(json.dumps(record))


def _csv(rows: list[Row], facts: dict[str, Any], emit: Callable[[str], None]) -> None:
    import csv
    import io

    text = io.StringIO()
    records = [{k: v for k, v in r.items() if "samples" not in k} for r in _records(rows, facts)]
    writer = csv.DictWriter(text, list(records[0]))
    writer.writeheader()
    writer.writerows(records)
    emit(text.getvalue().rstrip("\r\n"))
