"""What `mobius verify` prints: a row per prompt and for the text, why something diverged, and the JSON object."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from converters.proof.difference import Findings
from mobius_cli.commands.verify.conclusion import conclusion
from mobius_cli.commands.verify.proof import proof_object
from mobius_cli.commands.verify.text import print_text
from mobius_cli.judging.compare import Verdict
from mobius_cli.judging.float16_noise import Float16Noise
from mobius_cli.judging.probes import Difference, first_difference
from mobius_cli.judging.reference import PromptReference, Reference
from mobius_cli.judging.text_score import TextScore
from mobius_cli.output import Output
from mobius_cli.runtime.text import TextCodec
from mobius_cli.table import shortened

_FEW = 2  # choices of experts that are shown of a prompt


def print_report(
    folder: Path,
    reference: Reference,
    differences: Sequence[Difference],
    verdicts: Sequence[Verdict],
    noises: Sequence[Float16Noise | None],
    score: TextScore | None,
    codec: TextCodec,
    output: Output,
    findings: Findings | None = None,
) -> None:
    """Tables of prompts and text with their explanations, or one JSON object.

    `differences` are of the tokenizer, `verdicts` and `noises` of the prompts; a noise is None where float16's was
    not measured. `findings`: of the comparison with the file, where there was one.
    """
    on = "same weights as a GGUF file" if reference.as_gguf else "same file"
    llama = f"llama.cpp {reference.build} on the {'float32 copy' if reference.settings.exact else on}"
    counts = {kind: sum(v.kind == kind for v in verdicts) for kind in ("identical", "near-tie", "diverged")}
    _print_tokenizer(reference, differences, output)
    if verdicts:
        _print_prompts(reference, verdicts, noises, codec, output)
        output.words(
            f"{llama}: "
            + ", ".join(f"{n} {name}" for name, n in counts.items() if n)
            + f" of {len(verdicts)} prompts, {sum(v.steps for v in verdicts)} tokens"
        )
    if score is not None:
        print_text(score, llama, output)
    passed, summary = conclusion(reference, differences, counts, score)
    output.verdict(f"{'PASS' if passed else 'FAIL'}: {summary}")
    found = ["diverged"] if differences else []
    worst = found + [k for k in ("diverged", "near-tie", "identical") if counts[k]] + ([score.verdict] if score else [])
    output.result(
        {
            "folder": str(folder), "llama_cpp": reference.build, "exact": reference.settings.exact,
            "verdict": "diverged" if "diverged" in worst else worst[0],
            **{kind.replace("-", "_"): count for kind, count in counts.items()},
            "passed": passed, "summary": summary,
            "prompts": [
                {"text": p.text, **_as_dict(v, noise)}
                for p, v, noise in zip(reference.prompts, verdicts, noises, strict=True)
            ],
            "tokenizer": {"texts": len(reference.tokenized), "differing": [asdict(d) for d in differences]},
            "text": None if score is None else asdict(score),
            "proof": None if findings is None else proof_object(findings),
        }
    )  # fmt: skip


def _print_tokenizer(reference: Reference, differences: Sequence[Difference], output: Output) -> None:
    count = len(reference.tokenized)
    if reference.as_gguf:
        output.words("tokenizer: the checkpoint's own, of which llama.cpp was not asked")
        return
    if not differences:
        output.words(f"tokenizer: llama.cpp's ids for {count} texts")
        return
    first = differences[0]
    at = first_difference(first.ours, first.theirs) or 0
    output.words(
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
    rows = [
        _cells(p, v, noise, output.verbose) for p, v, noise in zip(reference.prompts, verdicts, noises, strict=True)
    ]
    hidden = set() if any(noises) else {"f16 noise"}
    if not output.verbose:  # what is left fits 80 columns
        hidden |= {"max diff", "mean KL"} | ({"same argmax"} if any(noises) else set())
    columns = [name for name in rows[0] if name not in hidden]
    right = [i for i, name in enumerate(columns) if name not in ("prompt", "verdict")]
    output.table(columns, [[row[name] for name in columns] for row in rows], right)
    for p, v, noise in zip(reference.prompts, verdicts, noises, strict=True):
        if v.reason:
            output.words(f"{p.text[:31]!r}: {_reason(v, noise)}")
        for line in _choices(p, v, output.verbose):
            output.words(f"{p.text[:31]!r}: {line}")
        for line in _margins(v, noise, codec):
            output.detail(f"{p.text[:31]!r}: {line}")


def _cells(prompt: PromptReference, v: Verdict, noise: Float16Noise | None, verbose: bool) -> dict[str, str]:
    at = f" at token {v.first_difference}" if v.first_difference is not None else ""
    at = f" in layer {v.choices[0].layer}" if v.choices else at
    return {
        "prompt": shortened(prompt.text, 32 if verbose else 20),
        "tokens": str(v.steps),
        "verdict": v.kind + at,
        "same argmax": f"{v.agreement:.1%}",
        "noise": _number(v.noise),
        "f16 noise": _number(noise.noise if noise else None),
        "max diff": _number(v.max_abs_logprob_diff),
        "mean KL": _number(v.mean_kl),
    }


def _choices(prompt: PromptReference, verdict: Verdict, every: bool) -> list[str]:
    """The choices of experts with which we agree with llama.cpp: the first few, or `every` one."""
    lines = []
    for c in verdict.choices if every else verdict.choices[:_FEW]:
        step = c.position - len(prompt.prompt_ids) + 1
        where = f"token {step}" if step >= 0 else f"token {c.position} of the prompt"
        added, dropped = (" and ".join(map(str, experts)) for experts in (c.added, c.dropped))
        lines.append(
            f"with expert {added} for {dropped} in layer {c.layer} at {where} (scores {c.margin:.2g} apart, noise"
            f" explains {c.limit:.2g})"
        )
    if len(verdict.choices) > len(lines):
        lines.append(f"with {len(verdict.choices) - len(lines)} more such choices (-v shows them)")
    if lines:
        lines[-1] += f", our logits are llama.cpp's up to noise of {_number(verdict.noise)}"
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _reason(verdict: Verdict, noise: Float16Noise | None) -> str:
    return verdict.reason + (f"; float16 noise {noise.noise:.3g}" if noise else "")


def _margins(verdict: Verdict, noise: Float16Noise | None, codec: TextCodec) -> list[str]:
    """The margins of each tie, and beside them float16's noise of the step."""
    if verdict.reason:
        return []
    return [
        f"near-tie at token {d.step}: {codec.show(d.our_token)} instead of {codec.show(d.their_token)},"
        f" margins {_number(d.their_margin)} (llama.cpp) and {_number(d.our_margin)} (ours), noise limit {d.limit:.3g}"
        + (f", float16 noise {noise.step_noise[d.step]:.3g}" if noise else "")
        for d in verdict.differences
    ]
