"""Memory of `mobius bench`: /proc, getrusage and a fake nvidia-smi."""

import os
import resource
from pathlib import Path

import numpy as np
import pytest

from mobius_cli.commands.bench import memory as bench_memory
from mobius_cli.commands.bench.memory import DeviceMemory, peak_host_mb

MIB = 1.048576  # MB


def test_the_peak_is_that_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = tmp_path / "status"
    status.write_text("Name:\tx\nVmPeak:\t  9000 kB\nVmHWM:\t  2000 kB\nVmRSS:\t  1000 kB\n")
    monkeypatch.setattr(bench_memory, "STATUS", status)
    assert peak_host_mb() == pytest.approx(2.048)


@pytest.mark.parametrize("text", [None, "Name:\tx\n"])
def test_without_proc_getrusage_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    if text is not None:
        (tmp_path / "status").write_text(text)
    monkeypatch.setattr(bench_memory, "STATUS", tmp_path / "status")
    monkeypatch.setattr(bench_memory.sys, "platform", "linux")
    wanted = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    assert peak_host_mb() == pytest.approx(wanted, rel=0.01)
    monkeypatch.setattr(bench_memory.sys, "platform", "darwin")  # counts bytes
    assert peak_host_mb() == pytest.approx(wanted / 1024, rel=0.01)


def test_the_peak_is_at_least_what_is_held() -> None:
    held = np.ones(80_000_000, np.uint8)
    peak = peak_host_mb()
    assert peak is not None
    assert held.nbytes / 1e6 < peak < 50_000


def smi(folder: Path, monkeypatch: pytest.MonkeyPatch, used: str, processes: str, code: int = 0) -> None:
    """A nvidia-smi whose answers are given."""
    path = folder / "nvidia-smi"
    path.write_text(
        "#!/bin/sh\n"
        '[ "$2" = --format=csv,noheader,nounits ] || exit 9\n'
        'case "$1" in\n'
        f"--query-gpu=name) printf 'NVIDIA X\\nNVIDIA X\\n';;\n"
        f"--query-gpu=memory.used) printf '{used}';;\n"
        f"--query-compute-apps=pid,used_memory) printf '{processes}';;\n"
        f"*) exit 9;;\nesac\nexit {code}\n"
    )
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_our_process_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smi(tmp_path, monkeypatch, "5\\n7\\n", "")
    memory = DeviceMemory(wanted=True)
    assert (memory.name, memory.peak_mb) == ("NVIDIA X", None)
    smi(tmp_path, monkeypatch, "5000\\n7\\n", f"1, 4000\\n{os.getpid()}, 800\\n{os.getpid()}, 200\\n")
    memory.look()
    assert memory.peak_mb == pytest.approx(1000 * MIB)
    smi(tmp_path, monkeypatch, "5000\\n7\\n", f"{os.getpid()}, 600\\n")
    memory.look()
    assert memory.peak_mb == pytest.approx(1000 * MIB)  # the most that was seen


@pytest.mark.parametrize("processes", ["", "1, 4000\\n", "[Not Found], [N/A]\\n"])
def test_a_hidden_process_is_what_was_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: str) -> None:
    smi(tmp_path, monkeypatch, "500\\n20\\n", processes)
    memory = DeviceMemory(wanted=True)
    smi(tmp_path, monkeypatch, "1500\\n30\\n", processes)
    memory.look()
    assert memory.peak_mb == pytest.approx(1010 * MIB)


def test_nothing_is_known_without_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    memory = DeviceMemory(wanted=True)
    memory.look()
    assert (memory.name, memory.peak_mb) == ("", None)
    smi(tmp_path, monkeypatch, "5\\n", "", code=1)  # one without a driver fails
    memory = DeviceMemory(wanted=True)
    memory.look()
    assert (memory.name, memory.peak_mb) == ("", None)


def test_nobody_asks_for_a_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smi(tmp_path, monkeypatch, "5\\n", f"{os.getpid()}, 600\\n")
    memory = DeviceMemory(wanted=False)
    memory.look()
    assert (memory.name, memory.peak_mb) == ("", None)
