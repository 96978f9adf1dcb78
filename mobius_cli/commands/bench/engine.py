"""llama.cpp as the other engine: llama-bench where there is one, else llama-server's own timings."""

from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from converters.sources.gguf.file import GgufFile
from converters.tokenizer.export import NO_TOKENIZER
from mobius_cli.commands.bench.rows import Workload
from mobius_cli.commands.bench.timed_test import random_tokens
from mobius_cli.llama_cpp.bench import LlamaBench, find_llama_bench
from mobius_cli.llama_cpp.server import LlamaServer, find_llama_server
from repack.errors import MobiusError

_ALL_LAYERS = 99  # more than any model has
_SPARE = 16  # tokens of context beyond the longest test


class LlamaCppEngine(Protocol):
    """An engine that is measured in alternation with ours."""

    @property
    def about(self) -> dict[str, str]:
        """Build, program and devices, for the record."""

    def warm_up(self, test: Workload) -> None:
        """Run the test once without counting it, if the engine does not do that by itself."""

    def sample(self, test: Workload) -> float | None:
        """Tokens per second; None where the engine cannot say."""


def open_llama_cpp(
    stack: ExitStack, gguf: Path, explicit: str | None, *, threads: int, longest: int, on_gpu: bool, vocab: int
) -> LlamaCppEngine:
    """llama-bench or llama-server on `gguf`, on the same kind of device; closed with `stack`.

    Raises:
        MobiusError: neither is found, or llama-server cannot run the file.
    """
    layers = _ALL_LAYERS if on_gpu else 0
    if (found := find_llama_bench(explicit)) is not None:
        return _Bench(LlamaBench(found, gguf, threads=threads, gpu_layers=layers), layers)
    binary = find_llama_server(explicit)
    _check_tokenizer(gguf)
    server = LlamaServer(binary, gguf, context=longest + _SPARE, threads=threads, gpu_layers=layers)
    return _Server(stack.enter_context(server), layers, vocab)


def _check_tokenizer(gguf: Path) -> None:
    with GgufFile.open(gguf) as source:
        if source.metadata.get("tokenizer.ggml.model") in NO_TOKENIZER:
            raise MobiusError(f"llama-server cannot run {gguf}, which has no tokenizer",
                              "put a llama-bench on the PATH, or leave out --gguf")  # fmt: skip


class _Bench:
    """llama-bench: a process per sample, which warms up by itself."""

    def __init__(self, bench: LlamaBench, layers: int) -> None:
        self._bench, self._layers = bench, layers

    @property
    def about(self) -> dict[str, str]:
        devices = f"{self._bench.backends}, -ngl {self._layers}" if self._bench.backends else f"-ngl {self._layers}"
        return {"llama_cpp": self._bench.build, "llama_cpp_engine": f"llama-bench {devices}"}

    def warm_up(self, test: Workload) -> None:
        pass

    def sample(self, test: Workload) -> float | None:
        return self._bench.speed(test.prompt, test.generate, test.depth)


class _Server:
    """llama-server; it cannot say how fast a prompt is behind a depth."""

    def __init__(self, server: LlamaServer, layers: int, vocab: int) -> None:
        self._server, self._layers, self._vocab = server, layers, vocab

    @property
    def about(self) -> dict[str, str]:
        return {"llama_cpp": self._server.build, "llama_cpp_engine": f"llama-server -ngl {self._layers}"}

    def warm_up(self, test: Workload) -> None:
        self.sample(test)

    def sample(self, test: Workload) -> float | None:
        if test.prompt and test.depth:
            return None
        if test.prompt:
            return self._server.speed(random_tokens(test.prompt, self._vocab), 1)[0] or None
        # One token more: the first one comes with the prompt, and its step is not in the time.
        return self._server.speed(random_tokens(max(1, test.depth), self._vocab), test.generate + 1)[1] or None
