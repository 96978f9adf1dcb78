"""float16's own rounding: how far a float16 graph lies from the float32 graph of the same file.

Both with float activations, over the steps and candidates of llama.cpp: numbers only, no judgement.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mobius_cli.judging.measure import Ours, Theirs, measure
from mobius_cli.judging.reference import PromptReference


@dataclass(frozen=True)
class Float16Noise:
    """`noise` (nats) of a prompt and `step_noise` (nats) of each step, as `Measured` has them.

    Ours is the float16 graph; in place of llama.cpp stands the float32 one.
    """

    noise: float
    step_noise: tuple[float, ...]


def of_candidates(prompt: PromptReference, logits: ArrayLike) -> Ours | None:
    """Our side of the prompt's candidates, from logits [steps, vocab]; None if they cannot be measured.

    Raises ValueError if the shapes do not fit.
    """
    found = Ours.of(Theirs.of(prompt.tokens, prompt.top_ids, prompt.top_logprobs), logits)
    return None if isinstance(found, str) else found


def float16_noise(prompt: PromptReference, half: Ours | None) -> Float16Noise | None:
    """The noise of `half`, a float16 graph's side; None if it or the float32 one is missing."""
    full = prompt.float32_logprobs
    if half is None or full is None:
        return None
    best = np.take_along_axis(prompt.top_ids, full.argmax(axis=1)[:, None], axis=1)[:, 0]
    measured = measure(Theirs.of(best, prompt.top_ids, full), half)
    return Float16Noise(measured.noise, tuple(measured.step_noise.tolist()))
