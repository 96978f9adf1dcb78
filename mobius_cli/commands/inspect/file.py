"""`mobius inspect` of a GGUF file: what it is and what it would become, without reading a weight."""

import math
from pathlib import Path
from typing import Any

from converters.folder.license import License
from converters.plan import Plan, make_plan, measure_roundings
from converters.sources.gguf.file import GgufFile
from converters.sources.source import Source
from converters.spec import Attention, Experts, LatentAttention, Mlp, ModelSpec
from converters.target import Target
from converters.weights.rounding import Rounding, rounding_lines
from mobius_cli.commands.inspect.tables import Tensor, by_type, each_tensor, print_tensors, print_types
from mobius_cli.output import Output, megabytes
from repack.errors import MobiusError

TEMPLATE = "tokenizer.chat_template"  # not from the tokenizer's modules, which a plan does not need
KINDS_SHOWN = 2  # of layers with heads of their own
GRAPH_BYTES_PER_NODE = 300  # a node with its names in model.onnx; measured 240 to 330


def inspect_file(model: Path, target: Target, output: Output, *, every_tensor: bool) -> bool:
    """Print the file and the plan for it; returns whether it can be converted.

    Raises:
        InputError: the file is missing, damaged or no GGUF.
    """
    with GgufFile.open(model) as source:
        plan, roundings, reason = try_plan(source, target)
        output.result(show_file(source, target, plan, roundings, reason, output, every_tensor=every_tensor))
        return plan is not None


def show_file(
    source: GgufFile,
    target: Target,
    plan: Plan | None,
    roundings: dict[str, Rounding],
    reason: MobiusError | None,
    output: Output,
    *,
    every_tensor: bool = False,
) -> dict[str, Any]:
    """Print the file, and the plan or the `reason` why there is none; returns all that for JSON."""
    facts = _facts(source)
    _print_facts(facts, plan, output)
    tensors = planned_tensors(source, plan)
    types = by_type(tensors)
    print_types(types, "becomes", output)
    listed = each_tensor(tensors) if every_tensor else None
    if listed is not None:
        print_tensors(listed, "becomes", output)
    size = _predict(source, plan) if plan else None
    if size:
        _print_prediction(size, target, roundings, output)
    warnings = list(plan.warnings) if plan else []
    for warning in warnings:
        output.warning(warning)
    if reason is not None:
        output.warning(f"cannot be converted: {reason.message} ({reason.hint})")
    return {
        **facts,
        "convertible": plan is not None,
        "reason": reason and reason.message,
        "types": types,
        "predicted": size,
        "roundings": {kind: vars(r) for kind, r in roundings.items()},
        "warnings": warnings,
        "spec": plan.spec.as_dict() if plan else None,
        **({"tensors": listed} if listed is not None else {}),
    }


def planned_tensors(source: Source, plan: Plan | None) -> list[Tensor]:
    """All tensors of a model, and what each becomes by a plan."""
    found = []
    for info in source.tensors.values():
        record = plan.weights.records.get(info.name) if plan else None
        became = (record.format, record.stored_bytes) if record else ("-", 0)
        found.append(Tensor(info.name, info.shape, info.type_name, info.nbytes or 0, *became))
    return found


def _print_prediction(size: dict[str, Any], target: Target, roundings: dict[str, Rounding], output: Output) -> None:
    output.data(
        f"predicted folder: about {megabytes(size['folder_bytes'])}, {size['ratio']:.2f} of the file"
        f" (target {target.name} {target.dtype}, storage {target.storage};"
        f" weights {megabytes(size['weight_bytes'])})"
    )
    for line in rounding_lines(roundings) if roundings else []:
        output.data(f"  {line}")


def try_plan(source: Source, target: Target) -> tuple[Plan | None, dict[str, Rounding], MobiusError | None]:
    """The plan, and for float16 what it would round; or the reason why there is none."""
    try:
        plan = make_plan(source, target)
        return plan, measure_roundings(plan) if target.dtype == "float16" else {}, None
    except MobiusError as error:
        return None, {}, error


def _facts(source: GgufFile) -> dict[str, Any]:
    metadata = source.metadata

    def text(key: str) -> str | None:
        value = metadata.get(key)
        return value if isinstance(value, str) else None

    return {
        "file": str(source.path),
        "shards": len(source.shards),
        "bytes": source.size,
        "gguf_version": source.version,
        "architecture": text("general.architecture"),
        "name": text("general.name"),
        **License.of(metadata).as_dict(),
        "parameters": sum(math.prod(t.shape) for t in source.tensors.values()),
        "tokenizer": text("tokenizer.ggml.model"),
        "pre_tokenizer": text("tokenizer.ggml.pre"),
        "chat_template": TEMPLATE in metadata,
        "named_chat_templates": [key[len(TEMPLATE) + 1 :] for key in metadata if key.startswith(f"{TEMPLATE}.")],
    }


def _print_facts(facts: dict[str, Any], plan: Plan | None, output: Output) -> None:
    output.data(f"{facts['name'] or Path(facts['file']).name}: {facts['architecture'] or 'no architecture'},"
                f" {facts['parameters'] / 1e6:,.1f} M parameters")  # fmt: skip
    files = f", {facts['shards']} files" if facts["shards"] > 1 else ""
    output.data(f"  file       {facts['file']}, {megabytes(facts['bytes'])}, GGUF v{facts['gguf_version']}{files}")
    if plan:
        spec = plan.spec
        windows = sorted({m.window for m in spec.modules() if isinstance(m, Attention) and m.window})
        output.data(
            f"  model      {len(spec.layers)} layers, hidden {spec.hidden}{_heads(spec)}{_feed_forward(spec)},"
            f" vocabulary {spec.vocab:,}{', tied head' if spec.tied_head else ''}"
        )
        local = f", local layers see {windows[0]}" if windows else ""
        output.data(f"  context    {spec.context_length:,}, converted for {plan.context_length:,}{local}")
    template = "with" if facts["chat_template"] else "no"
    pre = f"/{facts['pre_tokenizer']}" if facts["pre_tokenizer"] else ""
    named = "".join(f", one named {name}" for name in facts["named_chat_templates"])
    license = License(facts["license"], facts["license_name"], facts["license_link"])
    output.data(f"  license    {license}")
    output.data(f"  tokenizer  {facts['tokenizer'] or 'none'}{pre}, {template} chat template{named}")


def _heads(spec: ModelSpec) -> str:
    """Those of the first kinds of layers; how many layers read the keys and values of others."""
    mixers = [mixer for mixer in spec.modules() if isinstance(mixer, (Attention, LatentAttention))]
    kinds = list(dict.fromkeys(f"{m.heads} of {m.head_dim} ({m.kv_heads} key/value)" for m in mixers))
    kinds = kinds[:KINDS_SHOWN] + ["..."] * (len(kinds) > KINDS_SHOWN)
    readers = sum(isinstance(mixer, Attention) and mixer.cache_of is not None for mixer in mixers)
    shared = f", {readers} layers without a cache" if readers else ""
    return f", heads {' or '.join(kinds)}{shared}" if kinds else ""


def _feed_forward(spec: ModelSpec) -> str:
    """The width, or the least and the largest one; how many experts of which width a token takes."""
    widths = sorted({module.width for module in spec.modules() if isinstance(module, Mlp)})
    dense = f", feed-forward {' to '.join(map(str, widths[:1] + widths[1:][-1:]))}" if widths else ""
    found = next((module for module in spec.modules() if isinstance(module, Experts)), None)
    return dense + (f", {found.used} of {found.count} experts of {found.width}" if found else "")


def _predict(source: GgufFile, plan: Plan) -> dict[str, Any]:
    """Exact for the weights; the tokenizer is estimated from its text in the file."""
    text = sum(
        len(source.metadata.record_bytes(key))
        for key in ("tokenizer.ggml.tokens", "tokenizer.ggml.merges")
        if key in source.metadata
    )
    pairs = 1 if "tokenizer.ggml.merges" in source.metadata else 2  # merges are derived where none are stored
    total = plan.data_bytes + GRAPH_BYTES_PER_NODE * len(plan.graph.nodes) + int(1.1 * text * pairs)
    return {
        "folder_bytes": total, "weight_bytes": plan.data_bytes, "ratio": round(total / source.size, 4),
    }  # fmt: skip
