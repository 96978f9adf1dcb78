"""What is the same in every row of a benchmark: as fields for records, and as terms and words for people."""

import math
import platform
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from converters.folder.manifest import Manifest
from converters.graph.graph import DATA
from converters.target import Target
from converters.version import tool_version
from mobius_cli.commands.bench.table import count, size
from mobius_cli.commands.bench.timed_test import PASS
from mobius_cli.reports.pages import plain


def run_facts(folder: Path, manifest: Manifest, target: Target, threads: int, command: str) -> dict[str, Any]:
    """What is known before anything is measured, under llama-bench's field names where they mean the same."""
    import onnxruntime

    weights: Counter[str] = Counter()
    for tensor in manifest.tensors:
        weights[tensor.source_type] += math.prod(tensor.shape)
    name = manifest.metadata.get("general.name")
    return {
        "command": plain(command),
        "model_name": plain(name if isinstance(name, str) and name.strip() else folder.resolve().name),
        "model_filename": plain(str(folder)),
        "model_type": f"{manifest.architecture} {weights.most_common(1)[0][0]}",
        "model_size": (folder / DATA).stat().st_size,
        "model_n_params": weights.total(),
        "backend": f"ORT {target.name}",
        "cpu_info": _processor(),
        "n_threads": threads,
        "n_batch": PASS,
        "mobius": tool_version(),
        "onnxruntime": onnxruntime.__version__,
    }


def circumstances(facts: Mapping[str, Any], samples: int, begun: str) -> dict[str, str]:
    """The facts in words, each with its term; what is not known is left out.

    Args:
        facts: of all rows.
        samples: of each test.
        begun: when the first test began, UTC, as ISO 8601.
    """
    theirs = facts["llama_cpp"] and f"{facts['llama_cpp']}, {facts['llama_cpp_engine']}"
    words = {
        "model": facts["model_name"],
        "type": facts["model_type"],
        "parameters": count(facts["model_n_params"]),
        "size": size(facts["model_size"]),
        "folder": facts["model_filename"],
        "backend": facts["backend"],
        "threads": str(facts["n_threads"]),
        "processor": facts["cpu_info"],
        "GPU": facts["gpu_info"],
        "onnxruntime": facts["onnxruntime"],
        "llama.cpp": theirs,
        "mobius": facts["mobius"],
        "load time": f"{facts['load_s']:.2f} s",
        "peak memory": _megabytes(facts["peak_host_mb"]),
        "GPU memory": _megabytes(facts["peak_device_mb"]),
        "samples": f"{samples} per test",
        "date": begun.replace("T", " ").replace("Z", " UTC"),
    }
    return {term: value for term, value in words.items() if value}


def _megabytes(number: float | None) -> str:
    return "" if number is None else f"{number:,.0f} MB"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()
