"""`mobius verify` of mixtures of experts that differ: choices of experts that rounding makes otherwise."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from converters.folder.manifest import Manifest
from mobius_cli.judging.compare import Verdict, compare, compare_exact
from mobius_cli.judging.reference import Reference
from mobius_cli.judging.rerouting import reroute
from mobius_cli.output import Output

FLOAT32_NOISE = 1e-4  # relative: --exact excuses no choice by more; honest noise is 1e-6 of tiny models


def explain_choices(
    folder: Path,
    manifest: Manifest,
    reference: Reference,
    verdicts: Sequence[Verdict],
    output: Output,
    *,
    ep: str | None,
    threads: int,
    accuracy_level: int | None,
) -> list[Verdict]:
    """The verdicts; those of "diverged" prompts of a mixture are looked at again, in another session.

    Raises:
        InputError: ONNX Runtime cannot load the folder.
        MobiusError: the execution provider is not installed.
    """
    found, wrong = list(verdicts), [i for i, v in enumerate(verdicts) if v.kind == "diverged"]
    if not (wrong and manifest.routers):
        return found
    from mobius_cli.runtime.routed import RoutedModel

    judge, most_noise = (compare_exact, FLOAT32_NOISE) if reference.settings.exact else (compare, math.inf)
    model = RoutedModel(folder, ep=ep, threads=threads, accuracy_level=accuracy_level)
    with output.progress("near choices of experts", len(wrong), "prompts") as advance:
        for index in wrong:
            p = reference.prompts[index]
            ids, first = [*p.prompt_ids, *p.tokens[:-1]], len(p.prompt_ids) - 1
            found[index] = reroute(p, found[index], judge, partial(model.route, ids, first), most_noise)
            advance(1, "")
    return found if reference.settings.exact else [_advised(v) for v in found]


def _advised(verdict: Verdict) -> Verdict:
    """With what to do where rounding may have made more choices than can be told apart."""
    if verdict.kind != "diverged":
        return verdict
    return replace(verdict, reason=f"{verdict.reason} (--exact compares without the rounding that turns choices)")
