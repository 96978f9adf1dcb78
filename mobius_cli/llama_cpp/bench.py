"""llama.cpp's own benchmark, `llama-bench`: where it is, and one sample of it."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from mobius_cli.llama_cpp.process import find_llama_server
from repack.errors import MobiusError

NAME = "llama-bench"
_HELP_TIMEOUT = 60.0


def find_llama_bench(explicit: str | None = None) -> Path | None:
    """The llama-bench on PATH or beside the llama-server that would run; only beside `explicit` if that is given.

    Raises InputError if `explicit` is not an executable.
    """
    if explicit is None and (found := shutil.which(NAME)) is not None:
        return Path(found)
    try:
        server = find_llama_server(explicit)
    except MobiusError:
        if explicit is not None:
            raise
        return None
    for folder in (server.parent, server.resolve().parent):
        if (found := shutil.which(NAME, path=str(folder))) is not None:
            return Path(found)
    return None


class LlamaBench:
    """A llama-bench with one model and number of threads.

    Attributes:
        build: as llama-server names it, such as "b6000-1a2b3c4"; empty before the first sample.
        backends: what the build can compute on, such as "CUDA"; empty before the first sample or if not told.
    """

    def __init__(self, binary: Path, model: Path, *, threads: int, gpu_layers: int) -> None:
        self._binary = binary
        self._options = ["-m", str(model), "-t", str(threads), "-ngl", str(gpu_layers), "-r", "1", "-o", "json"]
        if gpu_layers == 0 and "--device" in self._call(["--help"], _HELP_TIMEOUT).stdout:
            self._options += ["-dev", "none"]  # else a GPU build still computes large batches on the GPU
        self.build = self.backends = ""

    def speed(self, prompt: int, generate: int, depth: int) -> float:
        """Tokens per second of one repetition after llama-bench's own warm-up.

        Raises:
            MobiusError: it failed, or its answer is not what was asked for.
        """
        options = [*self._options, "-p", str(prompt), "-n", str(generate)]
        if depth:  # builds before 2025 do not know it
            options += ["-d", str(depth)]
        done = self._call(options, None)
        if done.returncode:
            raise MobiusError(
                f"{NAME} ended with code {done.returncode}: {_reason(done.stderr)}",
                "Check that this llama.cpp supports the model and the options, and that there is enough memory.",
            )
        try:
            (answer,) = json.loads(done.stdout)
            asked = (answer["n_prompt"], answer["n_gen"], answer.get("n_depth", 0))
            speed = float(answer["avg_ts"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._unusable() from error
        if asked != (prompt, generate, depth) or not speed > 0:
            raise self._unusable()
        self.build = f"b{answer.get('build_number', 0)}-{answer.get('build_commit', 'unknown')}"
        self.backends = str(answer.get("backends", ""))
        return speed

    def _unusable(self) -> MobiusError:
        return MobiusError(f"{self._binary}: no usable answer", "Use a newer llama.cpp, or move this one off the PATH.")

    def _call(self, options: list[str], timeout: float | None) -> "subprocess.CompletedProcess[str]":
        environment = os.environ | {"GGML_NO_BACKTRACE": "1"}  # a failed assertion must end the process
        settings: dict[str, Any] = {"encoding": "utf-8", "errors": "replace", "timeout": timeout, "env": environment}
        try:
            return subprocess.run(
                [str(self._binary), *options],
                stdin=subprocess.DEVNULL, capture_output=True, check=False, **settings,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = error.strerror if isinstance(error, OSError) else f"no answer in {_HELP_TIMEOUT:.0f} s"
            raise MobiusError(
                f"{self._binary}: cannot run it ({reason})", "Remove it from the PATH, or repair it."
            ) from error


def _reason(log: str) -> str:
    """The first line that names an error, else the last one."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), (lines or ["(no output)"])[-1])[:300]
