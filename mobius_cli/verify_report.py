"""What `mobius verify` prints: a row per prompt and for the text, why something diverged, and the JSON object."""

from dataclasses import asdict
from pathlib import Path

from mobius_cli.output import Output
from mobius_cli.runtime.compare import Verdict
from mobius_cli.runtime.reference import Reference
from mobius_cli.runtime.text import TextCodec
from mobius_cli.runtime.text_score import TextScore
from mobius_cli.verify_text import print_text


def print_report(
    folder: Path,
    reference: Reference,
    verdicts: list[Verdict],
    score: TextScore | None,
    codec: TextCodec,
    output: Output,
) -> None:
    """Tables of prompts and text with their explanations, or one JSON object; `verdicts` are of the prompts."""
    llama = f"llama.cpp {reference.build} on the {'float32 copy' if reference.settings.exact else 'same file'}"
    counts = {kind: sum(v.kind == kind for v in verdicts) for kind in ("identical", "near-tie", "diverged")}
    if verdicts:
        _print_prompts(reference, verdicts, codec, output)
        output.data(
            f"{llama}: "
            + ", ".join(f"{n} {name}" for name, n in counts.items() if n)
            + f" of {len(verdicts)} prompts, {sum(v.steps for v in verdicts)} tokens"
        )
    if score is not None:
        print_text(score, llama, output)
    worst = [k for k in ("diverged", "near-tie", "identical") if counts[k]] + ([score.verdict] if score else [])
    output.result(
        {
            "folder": str(folder), "llama_cpp": reference.build, "exact": reference.settings.exact,
            "verdict": "diverged" if "diverged" in worst else worst[0], **counts,
            "prompts": [
                {"text": p.text, **asdict(v)} for p, v in zip(reference.prompts, verdicts, strict=True)
            ],
            "text": None if score is None else asdict(score),
        }
    )  # fmt: skip


def _print_prompts(reference: Reference, verdicts: list[Verdict], codec: TextCodec, output: Output) -> None:
    columns = ("prompt", "tokens", "verdict", "same argmax", "noise", "max diff", "mean KL")
    rows = []
    for p, v in zip(reference.prompts, verdicts, strict=True):
        shown = p.text if len(p.text) <= 32 else p.text[:31] + "…"
        at = f" at token {v.first_difference}" if v.first_difference is not None else ""
        rows.append(
            (shown, str(v.steps), v.kind + at, f"{v.agreement:.1%}", _number(v.noise), _number(v.max_abs_logprob_diff),
             _number(v.mean_kl))
        )  # fmt: skip
    output.table(columns, rows, right=(1, 3, 4, 5, 6))
    for p, v in zip(reference.prompts, verdicts, strict=True):
        for line in _explain(v, codec):
            output.data(f"{p.text[:31]!r}: {line}")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _explain(verdict: Verdict, codec: TextCodec) -> list[str]:
    """Why a prompt diverged, or the margins of its ties."""
    if verdict.reason:
        return [verdict.reason]
    return [
        f"near-tie at token {d.step}: {codec.show(d.our_token)} instead of {codec.show(d.their_token)},"
        f" margins {_number(d.their_margin)} (llama.cpp) and {_number(d.our_margin)} (ours), noise limit {d.limit:.3g}"
        for d in verdict.differences
    ]
