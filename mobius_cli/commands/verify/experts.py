"""`mobius verify` of mixtures of experts that differ: choices of experts that rounding makes otherwise."""

from collections.abc import Sequence
from pathlib import Path

from converters.folder.manifest import Manifest
from mobius_cli.judging.compare import Verdict, compare, compare_exact
from mobius_cli.judging.reference import PromptReference, Reference
from mobius_cli.judging.rerouting import reroute
from mobius_cli.output import Output


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

    judge = compare_exact if reference.settings.exact else compare
    model = RoutedModel(folder, ep=ep, threads=threads, accuracy_level=accuracy_level)
    with output.progress("near choices of experts", len(wrong), "prompts") as advance:
        for index in wrong:
            p = reference.prompts[index]
            found[index] = reroute(p, found[index], judge, lambda forced, p=p: model.route(*_sequence(p), forced))
            advance(1, "")
    return found


def _sequence(prompt: PromptReference) -> tuple[list[int], int]:
    """The tokens that are run, and the position of the first step."""
    return [*prompt.prompt_ids, *prompt.tokens[:-1]], len(prompt.prompt_ids) - 1
