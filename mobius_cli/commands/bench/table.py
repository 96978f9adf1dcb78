"""Results of `mobius bench` as tables and records: Markdown, CSV, JSON, JSON lines."""

import csv
import io
import json
import statistics
from collections.abc import Sequence
from typing import Any

from mobius_cli.commands.bench.rows import Row, records, spread

WORDS = ("model", "size", "params", "backend")  # columns of words, to the left; all others hold numbers or tests


def cells(rows: Sequence[Row], facts: dict[str, Any]) -> list[list[str]]:
    """The table, its head first: llama-bench's columns, llama.cpp's speed and the ratio if it ran, first token."""
    beside = facts["llama_cpp"] is not None
    head = [*WORDS, "threads" if facts["gpu_info"] is None else "gpu", "test", "t/s"]
    table = [[*head, *(["llama.cpp t/s", "ratio"] if beside else []), "ttft ms"]]
    shared = [facts["model_type"], size(facts["model_size"]), count(facts["model_n_params"]), facts["backend"]]
    shared.append(str(facts["n_threads"]) if facts["gpu_info"] is None else facts["gpu_info"])
    for row in rows:
        line = [*shared, row.test.name, speed(row.ours)]
        if beside:
            line += [speed(row.theirs), "-" if row.ratio is None else f"{row.ratio:.2f}"]
        table.append([*line, "-" if row.ttft_ms is None else f"{row.ttft_ms:.2f}"])
    return table


def markdown(rows: Sequence[Row], facts: dict[str, Any]) -> str:
    """The table in Markdown, and the remarks below."""
    table = cells(rows, facts)
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    left = [name in WORDS for name in table[0]]
    table.insert(1, ["-" * w if keep else "-" * (w - 1) + ":" for w, keep in zip(widths, left, strict=True)])
    lines = []
    for line in table:
        padded = [c.ljust(w) if keep else c.rjust(w) for c, w, keep in zip(line, widths, left, strict=True)]
        lines.append("| " + " | ".join(padded) + " |")
    return "\n".join([*lines, "", remarks(facts)])


def remarks(facts: dict[str, Any]) -> str:
    """Versions, load time and memory, in one line."""
    ours = [f"onnxruntime {facts['onnxruntime']}", f"loaded in {facts['load_s']:.2f} s"]
    if facts["peak_host_mb"] is not None:
        ours.append(f"peak memory of the process {facts['peak_host_mb']:.0f} MB")
    if facts["peak_device_mb"] is not None:
        ours.append(f"on the device {facts['peak_device_mb']:.0f} MB")
    theirs = f"; llama.cpp {facts['llama_cpp']} ({facts['llama_cpp_engine']})" if facts["llama_cpp"] else ""
    return ", ".join(ours) + theirs


def as_json(rows: Sequence[Row], facts: dict[str, Any]) -> str:
    """One array with an object per test."""
    return json.dumps(records(rows, facts), indent=2, ensure_ascii=False)


def as_jsonl(rows: Sequence[Row], facts: dict[str, Any]) -> str:
    """A line per test."""
    return "\n".join(json.dumps(record, ensure_ascii=False) for record in records(rows, facts))


def as_csv(rows: Sequence[Row], facts: dict[str, Any]) -> str:
    """A head and a line per test, without the single samples."""
    text = io.StringIO()
    flat = [{k: v for k, v in record.items() if "samples" not in k} for record in records(rows, facts)]
    writer = csv.DictWriter(text, list(flat[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue().rstrip("\n")


def speed(samples: Sequence[float]) -> str:
    """Mean and standard deviation as llama-bench prints them."""
    return f"{statistics.mean(samples):.2f} ± {spread(samples):.2f}" if samples else "-"


def size(number: int) -> str:
    """Bytes as llama-bench prints them."""
    return f"{number / 2**20:.2f} MiB" if number < 2**30 else f"{number / 2**30:.2f} GiB"


def count(number: int) -> str:
    """Parameters as llama-bench prints them."""
    return f"{number / 1e6:.2f} M" if number < 1e9 else f"{number / 1e9:.2f} B"
