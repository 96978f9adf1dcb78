"""Work on large arrays in bands that stay in a processor's cache, on all processors."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

R = TypeVar("R")


def over_bands(count: int, step: int, work: Callable[[slice], R]) -> list[R]:
    """What `work` gives for bands of `step` out of `count` elements, in order; several run at once.

    numpy lets other threads run while it computes. What `work` raises is passed on.
    """
    bands = [slice(first, first + step) for first in range(0, count, step)]
    return [work(band) for band in bands] if len(bands) < 2 else list(_threads().map(work, bands))


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(8, os.cpu_count() or 1))
