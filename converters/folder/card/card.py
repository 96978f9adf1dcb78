"""README.md of a model folder: what it is, where it comes from, how exact it is, and programs that run it."""

from collections.abc import Mapping, Sequence
from typing import Any

from converters.archs.registry import find
from converters.folder.card.front_matter import base_models, front_matter
from converters.folder.card.snippets import Snippet, snippets
from converters.folder.license import License, plain_text
from converters.folder.seal import sealed
from converters.folder.source_file import SourceFile
from converters.plan import Plan
from converters.tokenizer.export import TokenizerFiles
from converters.weights.rounding import Rounding, rounding_lines


def model_card(
    plan: Plan, parts: Sequence[SourceFile], tokens: TokenizerFiles, roundings: Mapping[str, Rounding]
) -> str:
    """The card; the same plan gives the same text.

    Args:
        plan: of the conversion.
        parts: the files that it read.
        tokens: the tokenizer.
        roundings: what was rounded, from `sum_roundings`.
    """
    metadata = plan.source.metadata
    architecture = find(plan.spec.architecture)
    assert architecture is not None
    named = architecture.hugging_face_of(plan.spec, plan.source.tensors)
    name = plain_text(metadata.get("general.name")) or _file(parts[0])
    made_of = f"{plan.source.kind}{' file' if plan.source.kind == 'GGUF' else ''}"
    lines = [
        front_matter(metadata, ["onnx", "onnxruntime", "onnxruntime-genai", "mobius", plan.spec.architecture]),
        f"# {code(name)}",
        "",
        f"The weights of a {made_of} as an ONNX model, made by mobius.",
        "",
        *_facts(plan, parts, metadata, roundings),
        "",
    ]
    for snippet in snippets(plan, tokens, named):
        lines += _section(snippet)
    return sealed("\n".join(lines).rstrip("\n") + "\n")


def code(text: str) -> str:
    """A stranger's text where nothing in it is markdown or HTML."""
    return f"`{text.replace('`', chr(39))}`" if text.strip() else "` `"


def _file(part: SourceFile) -> str:
    return plain_text(part.file) or ""


def _facts(
    plan: Plan, parts: Sequence[SourceFile], metadata: Mapping[str, Any], roundings: Mapping[str, Rounding]
) -> list[str]:
    target = plan.target
    license = License.of(metadata)
    link = f" <{license.safe_link}>" if license.safe_link else ""
    said = ", ".join(code(part) for part in (license.identifier, license.name) if part) or "not stated in the file"
    author = plain_text(metadata.get("general.author"))
    bases = list(base_models(metadata))
    return [
        *(f"* source: {code(_file(p))}, {p.bytes:,} bytes, SHA-256 {p.sha256}" for p in parts),
        *([f"* author: {code(author)}"] if author else []),
        *([f"* base model: {', '.join(map(code, bases))}"] if bases else []),
        f"* licence: {said}{link}",
        f"* architecture: {plan.spec.architecture}; context {plan.context_length:,} tokens",
        f"* target: {target.name}, {target.dtype} ({target.description})",
        f"* runs in: ONNX Runtime {plan.oldest_runtime} or newer",
        *(f"* {line}" for line in rounding_lines(roundings)),
    ]


def _section(snippet: Snippet) -> list[str]:
    before = [snippet.before, ""] if snippet.before else []
    return [f"## {snippet.title}", "", *before, f"```{snippet.language}", *snippet.code.splitlines(), "```", ""]
