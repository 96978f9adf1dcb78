"""Arrays out of JSON that may be damaged, and into it: what is wrong is said by a ValueError or TypeError."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from converters.checked import typed

LARGEST_LOGPROB = 0.01  # 0, but for float32 rounding
_DECIMALS = 6  # a float32 log-probability near 1 has no more


def array(value: Any, kinds: str, ndim: int) -> NDArray[Any]:
    """A list as an array of `ndim` dimensions whose dtype is one of `kinds`; an empty one as it comes.

    Raises TypeError or ValueError for anything else.
    """
    found = np.array(typed(value, list))
    if found.size and (found.dtype.kind not in kinds or found.ndim != ndim):
        raise ValueError(f"{value!r:.40} where numbers in {ndim} dimension(s) are expected")
    return found


def candidates(entry: dict[str, Any], steps: int, where: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """`top_ids` and `top_logprobs` [steps, top] of an entry; `where` names it in messages.

    Raises KeyError, TypeError or ValueError if they are missing, do not fit, or are no ids or log-probabilities.
    """
    ids = array(entry["top_ids"], "iu", 2)
    logprobs = array(entry["top_logprobs"], "iuf", 2)
    if not ids.size:
        raise ValueError(f"{where} has no tokens")
    if ids.shape != logprobs.shape or len(ids) != steps:
        raise ValueError(f"{where}: {steps} tokens, {ids.shape} ids, {logprobs.shape} probabilities")
    if ids.min() < 0:
        raise ValueError(f"{where} has a negative token id")
    if logprobs.max() > LARGEST_LOGPROB:
        raise ValueError(f"{where} has a log-probability above 0")
    return ids.astype(np.int64), logprobs.astype(np.float64)


def rounded(logprobs: NDArray[np.float64]) -> Any:
    """Log-probabilities of any shape as nested lists, to 6 decimals."""
    values = logprobs.tolist()
    return [[round(v, _DECIMALS) for v in row] if isinstance(row, list) else round(row, _DECIMALS) for row in values]


def refuse_constant(name: str) -> float:
    """For json.loads: NaN and infinities are no JSON. Raises ValueError."""
    raise ValueError(f"{name} is not a number")
