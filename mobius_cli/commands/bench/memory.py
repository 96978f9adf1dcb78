"""Memory that a benchmark took: of this process on the host, and on NVIDIA GPUs as far as nvidia-smi tells."""

import os
import re
import subprocess
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
_TIMEOUT = 30.0  # seconds that nvidia-smi may take


def peak_host_mb() -> float | None:
    """Most memory (MB) that the whole process held so far, Python and libraries included; None where unknown."""
    try:  # Linux: unlike getrusage's, this peak does not start with that of the program that started us
        if found := re.search(r"^VmHWM:\s*(\d+) kB", STATUS.read_text(), re.MULTILINE):
            return int(found[1]) * 1024 / 1e6
    except OSError:
        pass
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e6


class DeviceMemory:
    """GPU memory of this process at the moments of `look`, from nvidia-smi; make it before a model is loaded.

    Where a container hides which process holds how much, it is how much more all GPUs hold than at the start.

    Attributes:
        name: of the GPUs; empty without nvidia-smi.
        peak_mb: the most that was seen; None as long as nothing was.
    """

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._before = _held() if wanted else None
        self.name = ", ".join(dict.fromkeys(_ask("--query-gpu=name"))) if wanted else ""
        self.peak_mb: float | None = None

    def look(self) -> None:
        """Ask now."""
        if not self._wanted or (now := _held()) is None or self._before is None:
            return
        own = _own()
        used = (now - self._before if own is None else own) * 2**20 / 1e6
        self.peak_mb = max(self.peak_mb or 0.0, used)


def _held() -> int | None:
    """MiB in use on all GPUs."""
    found = [int(line) for line in _ask("--query-gpu=memory.used") if line.isdigit()]
    return sum(found) if found else None


def _own() -> int | None:
    """MiB that this process uses, None where it is not listed."""
    lines = [line.split(", ") for line in _ask("--query-compute-apps=pid,used_memory")]
    found = [int(line[1]) for line in lines if line[0] == str(os.getpid()) and line[1].isdigit()]
    return sum(found) if found else None


def _ask(query: str) -> list[str]:
    """Lines of nvidia-smi's answer; none where there is no nvidia-smi, or it fails."""
    try:
        done = subprocess.run(
            ["nvidia-smi", query, "--format=csv,noheader,nounits"],
            stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace", timeout=_TIMEOUT,
            check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]
