"""The last line of `mobius verify`: what came of it, in words."""

from collections.abc import Mapping, Sequence

from mobius_cli.judging.compare import EXACT_TOLERANCE
from mobius_cli.judging.probes import Difference
from mobius_cli.judging.reference import Reference
from mobius_cli.judging.text_score import TextScore


def conclusion(
    reference: Reference, differences: Sequence[Difference], counts: Mapping[str, int], score: TextScore | None
) -> tuple[bool, str]:
    """Whether nothing diverged, and a sentence that says what that means.

    Args:
        reference: what llama.cpp said.
        differences: texts with other ids than in llama.cpp.
        counts: prompts of each verdict.
        score: of the text, if there was one.
    """
    failures = []
    if differences:
        failures.append(
            f"the tokenizer gives other ids than llama.cpp for {len(differences)} of {len(reference.tokenized)} texts"
        )
    if counts["diverged"]:
        what = "float32 rounding" if reference.settings.exact else "rounding"
        failures.append(f"{what} does not explain how the tokens differ from llama.cpp's ({_counted(counts)})")
    if score is not None and score.verdict == "diverged":
        failures.append(f"{score.name}: {score.reason}")
    if failures:
        return False, "; ".join(failures)
    found = []
    if any(counts.values()):
        found.append(_tokens(reference.settings.exact, counts))
    if score is not None:
        found.append(f"the probabilities of {score.name} are llama.cpp's, up to rounding")
    return True, "; ".join(found)


def _tokens(exact: bool, counts: Mapping[str, int]) -> str:
    said = "every token is llama.cpp's"
    if counts["near-tie"]:
        said += ", or differs only where both engines are undecided"
    if exact:
        said += f", and log-probabilities agree within {EXACT_TOLERANCE:g}"
    return f"{said} ({_counted(counts)})"


def _counted(counts: Mapping[str, int]) -> str:
    """The prompts of each verdict: "6 near-ties, 2 identical"."""
    many = {"near-tie": "near-ties"}
    kinds = ("diverged", "near-tie", "identical")
    return ", ".join(f"{counts[k]} {many.get(k, k) if counts[k] > 1 else k}" for k in kinds if counts[k])
