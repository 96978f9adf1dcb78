"""What is the same in every row of a benchmark, as terms and words for people."""

from collections.abc import Mapping
from typing import Any

from mobius_cli.commands.bench.table import count, size


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
