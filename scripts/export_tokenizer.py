#!/usr/bin/env python3
"""Read a GGUF file's vocabulary, write its tokenizer.json, and print the seconds and the memory that it took.

usage: python scripts/export_tokenizer.py MODEL.gguf tokenizer.json

Prints one JSON object: tokens, bytes written, seconds without imports, and the peak memory of the process in MB.
"""

import json
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def peak_memory() -> float:
    """Of this process, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # where ru_maxrss would include what the parent process had when it forked
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main() -> None:
    from converters.sources.gguf.file import GgufFile
    from converters.tokenizer import export_tokenizer

    source, destination = map(Path, sys.argv[1:])
    start = time.perf_counter()
    with GgufFile.open(source) as file:
        tokens = len(file.metadata["tokenizer.ggml.tokens"])
        destination.write_bytes(export_tokenizer(file.metadata).tokenizer_json or b"")
    seconds = time.perf_counter() - start
    found = {
        "tokens": tokens,
        "bytes": destination.stat().st_size,
        "seconds": round(seconds, 2),
        "peak_mb": round(peak_memory()),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
