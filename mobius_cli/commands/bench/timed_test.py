"""One test in ONNX Runtime, sample after sample in the same cache."""

import time
from typing import Protocol

import numpy as np

from mobius_cli.commands.bench.rows import Workload
from mobius_cli.runtime.decoding import Decoding

PASS = 512  # prompt tokens per pass, as llama.cpp's default micro-batch


class Starts(Protocol):
    """What is needed of a model."""

    def start(self, length: int) -> Decoding:
        """A new sequence with a cache of `length` positions."""


def random_tokens(count: int, vocab: int) -> list[int]:
    """Random token ids, the same in every run."""
    return [int(t) for t in np.random.default_rng(0).integers(0, vocab, count)]


class TimedTest:
    """A test, with the cache filled to its depth once.

    Each sample goes back to that depth. On a GPU the first one captures the CUDA graph that later ones replay, so
    the first one must not count.
    """

    def __init__(self, model: Starts, test: Workload, vocab: int) -> None:
        self._test = test
        self._ids = random_tokens(test.length, vocab)
        self._decoding = model.start(test.length)
        self._run(0, test.depth, PASS)
        self._decoding.mark()

    def sample(self) -> float:
        """Tokens per second: with all logits that the test asks for on the host, without sampling from them."""
        test = self._test
        self._decoding.rewind(test.depth)
        begin = time.perf_counter()
        self._run(test.depth, test.length, PASS if test.prompt else 1)
        return test.timed / (time.perf_counter() - begin)

    def _run(self, first: int, end: int, step: int) -> None:
        for start in range(first, end, step):
            self._decoding.run(self._ids[start : min(start + step, end)])
