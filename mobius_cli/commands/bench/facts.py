"""What is the same in every row of a benchmark, and known before anything is measured."""

import math
import platform
from collections import Counter
from pathlib import Path
from typing import Any

from converters.folder.layout import data_of
from converters.folder.manifest import Manifest
from converters.target import Target
from converters.version import tool_version
from mobius_cli.commands.bench.timed_test import PASS
from mobius_cli.reports.pages import plain


def run_facts(folder: Path, manifest: Manifest, target: Target, threads: int, command: str) -> dict[str, Any]:
    """Model, machine and versions, under llama-bench's field names where they mean the same."""
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
        "model_size": manifest.files[data_of(manifest.graph)],
        "model_n_params": weights.total(),
        "backend": f"ORT {target.name}",
        "cpu_info": _processor(),
        "n_threads": threads,
        "n_batch": PASS,
        "mobius": tool_version(),
        "onnxruntime": onnxruntime.__version__,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()
