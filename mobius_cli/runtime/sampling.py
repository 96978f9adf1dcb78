"""How the next token is picked: the most likely one, or one drawn from what top-k, top-p and min-p leave.

The order is llama.cpp's: top-k, top-p and min-p look at the model's own distribution, temperature bends what is left.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from repack.errors import MobiusError

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Ids = npt.NDArray[np.intp]
Pick = Callable[[F32], int]  # logits [vocabulary] -> token


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn; as it stands, greedily.

    Attributes:
        temperature: 0 takes the most likely token, 1 leaves the model's distribution as it is.
        top_k: the most tokens that are left; 0 leaves all.
        top_p: the most likely tokens that have this probability together are left; 1 leaves all.
        min_p: tokens that have this part of the best one's probability are left; 0 leaves all.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    @property
    def greedy(self) -> bool:
        """Whether nothing is left to chance."""
        return self.temperature == 0

    def __str__(self) -> str:
        if self.greedy:
            return "greedy"
        parts = [f"temperature {self.temperature:g}"]
        parts += [f"top-k {self.top_k}"] if self.top_k else []
        parts += [f"top-p {self.top_p:g}"] if self.top_p < 1 else []
        parts += [f"min-p {self.min_p:g}"] if self.min_p else []
        return ", ".join(parts)


def picker(sampling: Sampling, seed: int) -> Pick:
    """A function that picks; the same seed picks the same from the same logits, call by call."""
    if sampling.greedy:
        return most_likely
    generator = np.random.default_rng(seed)

    def pick(logits: F32) -> int:
        ids, probabilities = distribution(logits, sampling)
        return int(generator.choice(ids, p=probabilities))

    return pick


def most_likely(logits: F32) -> int:
    """The token of the largest logit, the first of several.

    Raises:
        MobiusError: there is none.
    """
    token = int(logits.argmax())  # that of a NaN, if there is one
    _check(float(logits[token]))
    return token


def distribution(logits: F32, sampling: Sampling) -> tuple[Ids, F64]:
    """The tokens that may be drawn, and the probability of each.

    Raises:
        MobiusError: no token can be drawn from these logits.
    """
    _check(float(logits.max()))
    ids = np.flatnonzero(logits > -np.inf)
    if sampling.top_k or sampling.top_p < 1:
        ids = _descending(ids, logits, sampling.top_k)
    if sampling.top_p < 1:
        together = np.cumsum(_softmax(logits[ids]))
        ids = ids[: int(np.searchsorted(together, sampling.top_p)) + 1]
    if sampling.min_p > 0:
        probabilities = _softmax(logits[ids])
        ids = ids[probabilities >= sampling.min_p * probabilities.max()]
    return ids, _softmax(logits[ids], sampling.temperature)


def _descending(ids: Ids, logits: F32, most: int) -> Ids:
    """Tokens by falling logit, of equal ones the first first; `most` of them, or all where it is 0."""
    if 0 < most < len(ids):  # sorting a whole vocabulary takes as long as a small model
        least = np.partition(logits[ids], -most)[-most]
        ids = ids[logits[ids] >= least]
    return ids[np.argsort(-logits[ids], kind="stable")][: most or None]


def _softmax(logits: F32, temperature: float = 1.0) -> F64:
    wide = logits.astype(np.float64)
    powers = np.exp((wide - wide.max()) / temperature)
    probabilities: F64 = powers / powers.sum()
    return probabilities


def _check(largest: float) -> None:
    if not np.isfinite(largest):
        raise MobiusError(
            f"no token can be chosen: the model's largest logit is {largest}",
            "`mobius verify` tells whether the folder is right; in float16, numbers can overflow",
        )
