"""What `mobius verify` prints: a row per prompt and for the text, why something diverged, and the JSON object."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mobius_cli.commands.verify.text import print_text
from mobius_cli.judging.compare import Verdict
from mobius_cli.judging.float16_noise import Float16Noise
from mobius_cli.judging.probes import Difference, first_difference
from mobius_cli.judging.reference import Reference
from mobius_cli.judging.text_score import TextScore
from mobius_cli.output import Output
from mobius_cli.runtime.text import TextCodec


def print_report(
    folder: Path,
    reference: Reference,
    differences: Sequence[Difference],
    verdicts: Sequence[Verdict],
    noises: Sequence[Float16Noise | None],
    score: TextScore | None,
    codec: TextCodec,
    output: Output,
) -> None:
    """Tables of prompts and text with their explanations, or one JSON object.

    `differences` are of the tokenizer, `verdicts` and `noises` of the prompts; a noise is None where float16's was
    not measured.
    """
    llama = f"llama.cpp {reference.build} on the {'float32 copy' if reference.settings.exact else 'same file'}"
    counts = {kind: sum(v.kind == kind for v in verdicts) for kind in ("identical", "near-tie", "diverged")}
    _print_tokenizer(reference, differences, output)
    if verdicts:
        _print_prompts(reference, verdicts, noises, codec, output)
        output.data(
            f"{llama}: "
            + ", ".join(f"{n} {name}" for name, n in counts.items() if n)
            + f" of {len(verdicts)} prompts, {sum(v.steps for v in verdicts)} tokens"
        )
    if score is not None:
        print_text(score, llama, output)
    found = ["diverged"] if differences else []
    worst = found + [k for k in ("diverged", "near-tie", "identical") if counts[k]] + ([score.verdict] if score else [])
    output.result(
        {
            "folder": str(folder), "llama_cpp": reference.build, "exact": reference.settings.exact,
            "verdict": "diverged" if "diverged" in worst else worst[0],
            **{kind.replace("-", "_"): count for kind, count in counts.items()},
            "prompts": [
                {"text": p.text, **_as_dict(v, noise)}
                for p, v, noise in zip(reference.prompts, verdicts, noises, strict=True)
            ],
            "tokenizer": {"texts": len(reference.tokenized), "differing": [asdict(d) for d in differences]},
            "text": None if score is None else asdict(score),
        }
    )  # fmt: skip


def _print_tokenizer(reference: Reference, differences: Sequence[Difference], output: Output) -> None:
    count = len(reference.tokenized)
    if not differences:
        output.data(f"tokenizer: llama.cpp's ids for {count} texts")
        return
    first = differences[0]
    at = first_difference(first.ours, first.theirs) or 0
    output.data(
        f"tokenizer: diverged, {len(differences)} of {count} texts get other ids than in llama.cpp,"
        f" for example {first.text!r} at token {at}: {first.ours[at : at + 4]} instead of {first.theirs[at : at + 4]}"
    )


def _as_dict(verdict: Verdict, noise: Float16Noise | None) -> dict[str, Any]:
    """A verdict with `float16_noise` (nats), the prompt's and at each difference that step's; null if unknown."""
    found = asdict(verdict)
    found["float16_noise"] = noise.noise if noise else None
    for difference in found["differences"]:
        difference["float16_noise"] = noise.step_noise[difference["step"]] if noise else None
    return found


def _print_prompts(
    reference: Reference,
    verdicts: Sequence[Verdict],
    noises: Sequence[Float16Noise | None],
    codec: TextCodec,
    output: Output,
) -> None:
    half = any(noises)
    columns = ("prompt", "tokens", "verdict", "same argmax", "noise", *["f16 noise"] * half, "max diff", "mean KL")
    rows = []
    for p, v, noise in zip(reference.prompts, verdicts, noises, strict=True):
        shown = p.text if len(p.text) <= 32 else p.text[:31] + "…"
        at = f" at token {v.first_difference}" if v.first_difference is not None else ""
        rows.append(
            (shown, str(v.steps), v.kind + at, f"{v.agreement:.1%}", _number(v.noise),
             *[_number(noise.noise if noise else None)] * half, _number(v.max_abs_logprob_diff), _number(v.mean_kl))
        )  # fmt: skip
    output.table(columns, rows, right=(1, *range(3, len(columns))))
    for p, v, noise in zip(reference.prompts, verdicts, noises, strict=True):
        for line in _explain(v, noise, codec):
            output.data(f"{p.text[:31]!r}: {line}")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _explain(verdict: Verdict, noise: Float16Noise | None, codec: TextCodec) -> list[str]:
    """Why a prompt diverged, or the margins of its ties; beside them float16's noise, of the prompt or of the step."""
    if verdict.reason:
        return [verdict.reason + (f"; float16 noise {noise.noise:.3g}" if noise else "")]
    return [
        f"near-tie at token {d.step}: {codec.show(d.our_token)} instead of {codec.show(d.their_token)},"
        f" margins {_number(d.their_margin)} (llama.cpp) and {_number(d.our_margin)} (ours), noise limit {d.limit:.3g}"
        + (f", float16 noise {noise.step_noise[d.step]:.3g}" if noise else "")
        for d in verdict.differences
    ]
