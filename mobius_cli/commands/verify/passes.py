"""The ONNX Runtime half of `mobius verify` on prompts: one pass over each prompt with llama.cpp's answer."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mobius_cli.judging.compare import Verdict, compare, compare_exact
from mobius_cli.judging.float16_noise import of_candidates
from mobius_cli.judging.measure import Ours
from mobius_cli.judging.reference import PromptReference
from mobius_cli.output import Output

if TYPE_CHECKING:
    from mobius_cli.runtime.session import OnnxModel


def judge_prompts(
    model: "OnnxModel", prompts: Sequence[PromptReference], exact: bool, output: Output, *, keep: bool = False
) -> tuple[list[Verdict], list[Ours | None]]:
    """A verdict for each prompt, and with `keep` what was judged: our side of the candidates, else None.

    Raises:
        MobiusError: a prompt does not fit the model's context.
    """
    judge = compare_exact if exact else compare
    verdicts, ours = [], []
    for p, logits in _passes(model, prompts, "ONNX Runtime", output):
        verdicts.append(judge(p.tokens, p.top_ids, p.top_logprobs, logits))
        ours.append(of_candidates(p, logits) if keep else None)
    return verdicts, ours


def score_prompts(
    model: "OnnxModel", prompts: Sequence[PromptReference], label: str, output: Output
) -> list[Ours | None]:
    """Our side of the candidates of each prompt, None where it cannot be measured; `label` is of the progress bar.

    Raises:
        MobiusError: a prompt does not fit the model's context.
    """
    return [of_candidates(p, logits) for p, logits in _passes(model, prompts, label, output)]


def _passes(
    model: "OnnxModel", prompts: Sequence[PromptReference], label: str, output: Output
) -> Iterator[tuple[PromptReference, NDArray[np.float32]]]:
    """Teacher-forced logits [steps, vocabulary] of each prompt: row i scores token i of llama.cpp's answer."""
    with output.progress(label, len(prompts), "prompts") as advance:
        for p in prompts:
            yield p, model.logits([*p.prompt_ids, *p.tokens[:-1]], first=len(p.prompt_ids) - 1)
            advance(1, "")
