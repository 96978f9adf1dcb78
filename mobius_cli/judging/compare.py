"""Judge our logits against llama.cpp's greedy decode of the same tokens: identical, near-tie or diverged.

On quantized weights llama.cpp rounds activations to 8 bits, and so does not even repeat its own tokens from one
build, KV type or batch size to the next. Equal text is therefore no criterion. Our model is fed llama.cpp's own
tokens (teacher forcing), so that one early tie does not decide all later steps; how far the candidates of both
engines move against each other is measured; and another argmax is excused only if its margin is of that size.
A model whose noise itself is too large is wrong, even if every token agrees.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mobius_cli.judging.measure import Bools, Floats, Measured, Ours, Theirs, measure

Kind = Literal["identical", "near-tie", "diverged"]

# Limits between honest and wrong models. Honest: llama.cpp against itself with other kernels, KV types and float32
# weights; wrong: the same models with one planted mistake (a norm scaled by 1.3, two heads swapped, ...). Mistakes
# smaller than the rounding of 8-bit activations (a norm scaled by 1.1) pass here; compare_exact finds them.
SIGMAS = 4.0  # of the difference of two candidates; honest ties stay below 2.8
STEP_FACTOR = 3.0  # a step's own noise counts up to this multiple of the prompt's; honest at most 3.2
MAX_MARGIN = 1.5  # of a tie, over the spread of its step, whatever the noise; honest below 1
MAX_RATIO = 0.22  # median noise over spread; honest at most 0.16, most planted mistakes above 0.24
MAX_RATIO_FEW_STEPS = 0.6  # the same for prompts that end early; single honest steps reach 0.5
DISTURBED = 0.8  # noise over spread of one step: no honest step comes near where all experts are the same
MAX_MEAN_KL = 0.03  # nats; honest at most 0.009, most planted mistakes above 0.034
MAX_SCALE_ERROR = 0.05  # honest at most 0.01
FEW_STEPS = 8
EXACT_TOLERANCE = 0.05  # nats; honest at most 0.02


@dataclass(frozen=True)
class Difference:
    """A step at which the argmax differs. Margins (nats): each engine's own token over the other's.

    `their_margin` is None if our token is not among llama.cpp's candidates. `explained`: both margins are
    below `limit`.
    """

    step: int
    their_token: int
    our_token: int
    their_margin: float | None
    our_margin: float
    limit: float
    explained: bool


@dataclass(frozen=True)
class RouterChoice:
    """A choice of experts that rounding made otherwise: with `added` in place of `dropped` we agree with llama.cpp.

    `position` counts the tokens of the prompt and its answer from 0. `margin`: by how much our scores prefer the
    choice that we made; at most `limit`, which the engines' noise explains.
    """

    layer: int
    position: int
    dropped: tuple[int, ...]
    added: tuple[int, ...]
    margin: float
    limit: float


@dataclass(frozen=True)
class Verdict:
    """The comparison of one prompt; `reason` is a sentence if "diverged", else empty.

    `Measured` says what `noise`, `scale`, `max_abs_logprob_diff`, `noise_ratio` (median over the steps) and
    `mean_kl` (mean over the steps) are; they are None if nothing could be measured.
    `disturbed` counts the steps whose own ratio exceeds DISTURBED; `agreement` is the fraction of equal argmax.
    `choices` of experts of a mixture were made otherwise, for which it is a "near-tie"; all numbers are with them.
    """

    kind: Kind
    steps: int
    agreement: float = 0.0
    first_difference: int | None = None
    differences: tuple[Difference, ...] = ()
    noise: float | None = None
    noise_ratio: float | None = None
    scale: float | None = None
    mean_kl: float | None = None
    max_abs_logprob_diff: float | None = None
    disturbed: int = 0
    reason: str = ""
    choices: tuple[RouterChoice, ...] = ()


def compare(tokens: ArrayLike, top_ids: ArrayLike, top_logprobs: ArrayLike, logits: ArrayLike) -> Verdict:
    """Compare with llama.cpp on the quantized file.

    `tokens` int [steps]: llama.cpp's greedy tokens. `top_ids` int and `top_logprobs` float [steps, top]: its
    candidates, some 32 of them, and their natural log-probabilities. `logits` float [steps, vocab]: ours, row i
    after the prompt and `tokens[:i]`. Where rounding picks another expert of a mixture, all logits of a step move: that
    is "diverged" here, and `rerouting` looks for the choice. Raises ValueError if the shapes do not fit.
    """
    theirs = Theirs.of(tokens, top_ids, top_logprobs)
    ours = Ours.of(theirs, logits)
    if isinstance(ours, str):
        return Verdict("diverged", len(theirs.tokens), reason=ours)
    measured = measure(theirs, ours)
    disturbed = measured.ratio > DISTURBED
    local = np.minimum(measured.step_noise, STEP_FACTOR * measured.noise)
    limits = _limits(np.maximum(local, measured.noise))
    limits = np.where(measured.spread > 0, np.minimum(limits, MAX_MARGIN * measured.spread), limits)
    differences = _differences(theirs, ours, limits)
    reason = _systematic(measured, disturbed) or _unexplained(differences) or _probabilities(measured)
    return _verdict(measured, differences, disturbed, reason)


def compare_exact(
    tokens: ArrayLike,
    top_ids: ArrayLike,
    top_logprobs: ArrayLike,
    logits: ArrayLike,
    *,
    tolerance: float = EXACT_TOLERANCE,
) -> Verdict:
    """Compare with llama.cpp on the file dequantized to float32; arguments as for `compare`.

    "diverged" if any candidate's log-probability differs by more than `tolerance` nats. Tokens must be equal,
    but for ties closer than float32 rounding resolves ("near-tie": both margins below SIGMAS of the noise).
    """
    theirs = Theirs.of(tokens, top_ids, top_logprobs)
    ours = Ours.of(theirs, logits)
    if isinstance(ours, str):
        return Verdict("diverged", len(theirs.tokens), reason=ours)
    measured = measure(theirs, ours)
    disturbed = measured.ratio > DISTURBED
    limits = _limits(np.full(len(theirs.tokens), measured.noise))
    differences = _differences(theirs, ours, limits)
    reason = _unexplained(differences)
    if measured.max_abs > tolerance:
        reason = f"a log-probability differs by {measured.max_abs:.3g}, more than {tolerance:g}"
    return _verdict(measured, differences, disturbed, reason)


def _limits(noise: Floats) -> Floats:
    # A margin is a difference of two candidates: its deviation is sqrt(2) times that of one.
    limits: Floats = SIGMAS * np.sqrt(2) * noise
    return limits


def _differences(theirs: Theirs, ours: Ours, limits: Floats) -> tuple[Difference, ...]:
    found = []
    for step in np.flatnonzero(ours.tokens != theirs.tokens).tolist():
        row = theirs.logprobs[step]
        own, other = (theirs.ids[step] == side.tokens[step] for side in (theirs, ours))
        their_margin = float(row[own][0] - row[other][0]) if other.any() else None
        our_margin, limit = float(ours.margins[step]), float(limits[step])
        close = their_margin is not None and their_margin <= limit and our_margin <= limit
        found.append(
            Difference(
                step=step,
                their_token=int(theirs.tokens[step]),
                our_token=int(ours.tokens[step]),
                their_margin=their_margin,
                our_margin=our_margin,
                limit=limit,
                explained=close,
            )
        )
    return tuple(found)


def _systematic(measured: Measured, disturbed: Bools) -> str:
    """Why no rounding explains the logits as a whole; empty if it does."""
    steps, ratio, scale = len(disturbed), float(np.median(measured.ratio)), measured.scale
    few = steps < FEW_STEPS
    if not few and abs(scale - 1) > MAX_SCALE_ERROR:
        beside = f", with noise of {ratio:.2f} of their spread" if ratio > 2 * abs(scale - 1) else ""
        return f"our logits are {scale:.3f} times llama.cpp's{beside}"
    highest = MAX_RATIO_FEW_STEPS if few else MAX_RATIO
    if ratio > highest:
        return f"noise is {ratio:.2f} of the spread of the candidates, more than {highest:g}"
    if disturbed.any():
        step = int(np.argmax(measured.ratio))
        worst = f"at step {step} noise is {measured.ratio[step]:.2f} of the spread of the candidates"
        return f"{worst}, and above {DISTURBED:g} at {disturbed.sum()} of {steps} steps"
    return ""


def _probabilities(measured: Measured) -> str:
    """Why the probabilities are wrong though no single token is; empty if they are not."""
    kl = float(measured.kl.mean()) if len(measured.kl) >= FEW_STEPS else 0.0
    return f"mean KL divergence is {kl:.3f} nats, more than {MAX_MEAN_KL:g}" if kl > MAX_MEAN_KL else ""


def _unexplained(differences: tuple[Difference, ...]) -> str:
    for found in differences:
        if not found.explained:
            what = f"step {found.step}: token {found.our_token} instead of {found.their_token}, "
            if found.their_margin is None:
                return what + "which is not among llama.cpp's candidates"
            margins = f"margins {found.their_margin:.3g} (llama.cpp) and {found.our_margin:.3g} (ours)"
            return what + f"{margins} are not both below {found.limit:.3g}, which noise explains"
    return ""


def _verdict(measured: Measured, differences: tuple[Difference, ...], disturbed: Bools, reason: str) -> Verdict:
    kind: Kind = "diverged" if reason else "near-tie" if differences else "identical"
    return Verdict(
        kind=kind,
        steps=len(disturbed),
        agreement=float(measured.agrees.mean()),
        first_difference=differences[0].step if differences else None,
        differences=differences,
        noise=measured.noise,
        noise_ratio=float(np.median(measured.ratio)),
        scale=measured.scale,
        mean_kl=float(measured.kl.mean()),
        max_abs_logprob_diff=measured.max_abs,
        disturbed=int(disturbed.sum()),
        reason=reason,
    )
