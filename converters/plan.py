"""What a conversion will do, decided before any weight is read."""

from dataclasses import dataclass, replace

from converters.archs.describe import describe
from converters.blocks.context import Build
from converters.blocks.decoder import build_decoder
from converters.folder.layout import FLAT, GraphFiles, graph_files
from converters.graph.context import GraphContext
from converters.graph.graph import Graph
from converters.graph.routers import RouterRecord
from converters.graph.states import State
from converters.operators import OPERATOR_SETS
from converters.sources.source import Source
from converters.spec import ModelSpec
from converters.target import Target
from converters.version import numbers_of
from converters.weights.records import sum_roundings
from converters.weights.rounding import Rounding
from converters.weights.weights import Weights
from repack.errors import InputError, MobiusError


@dataclass(frozen=True)
class Plan:
    """A described model, its finished graph with unread weights, and what the user should know.

    `states` are those of the graph in order, `routers` where it chooses experts; `hidden` is the value from which its
    head makes logits; `norms_heads`: its attention operator norms q and k itself; `oldest_runtime`: version of ONNX
    Runtime that has all its operators and computes them right; `files`: where it will stand in the folder.
    """

    source: Source
    spec: ModelSpec
    target: Target
    context_length: int
    graph: Graph
    weights: Weights
    states: tuple[State, ...]
    routers: tuple[RouterRecord, ...]
    hidden: str
    norms_heads: bool
    oldest_runtime: str
    warnings: tuple[str, ...]
    files: GraphFiles = FLAT

    @property
    def data_bytes(self) -> int:
        """Size of all initializers."""
        return sum(value.nbytes for value in self.graph.initializers.values())


def make_plan(source: Source, target: Target, context_length: int | None = None, layout: str = "flat") -> Plan:
    """Describe the model, build its graph, and account for every tensor.

    Raises:
        MobiusError: anything that cannot be converted exactly as the file says.
    """
    files = graph_files(layout, target.dtype)
    _check_source(source, target)
    spec, warnings = describe(source)
    _check_vocabulary(source, spec)
    context = choose_context(spec, target, context_length)
    if context_length is None and context < spec.context_length:
        warnings.append(
            f"context limited to {context} of the model's {spec.context_length} tokens"
            f" (tables and cache are made for it); --context-length {spec.context_length} lifts this"
        )
    operators = OPERATOR_SETS[target.operators]
    graph = Graph(spec.architecture, operators.opset)
    c = GraphContext(graph, target, operators, context)
    weights = Weights(source, c, spec.ignored)
    hidden = build_decoder(Build(c, spec, weights))
    if weights.ignored:
        shown = ", ".join(weights.ignored[:3]) + (", ..." if len(weights.ignored) > 3 else "")
        warnings.append(f"{len(weights.ignored)} tensor(s) are not used, as in llama.cpp: {shown}")
    if aside := weights.set_aside("input_scale"):
        warnings.append(f"{aside} .input_scale tensors are not used: they describe activations, which stay unscaled")
    _check_leftovers(source, weights)
    return Plan(
        source, spec, target, context, graph, weights, tuple(c.states), tuple(c.routers), hidden.name, c.norms_heads,
        max((target.oldest_runtime, *c.runtimes), key=numbers_of), tuple(warnings),
        files,
    )  # fmt: skip


def measure_roundings(plan: Plan) -> dict[str, Rounding]:
    """What float16 would round: reads scales, offsets and plain floats, but no codes.

    Raises:
        MobiusError: a number that float16 cannot hold.
    """
    if plan.target.storage != "fast":  # whose initializers are the operators' own scales and offsets
        plan = make_plan(plan.source, replace(plan.target, storage="fast"), plan.context_length)
    for value in plan.graph.initializers.values():
        if value.dtype in ("float16", "bfloat16") and value.compute is not None:
            for _ in value.pieces():
                pass
    return sum_roundings(plan.weights.records.values())


def choose_context(spec: ModelSpec, target: Target, asked: int | None) -> int:
    """The context that tables and cache are made for.

    Raises:
        InputError: more than the model was trained for, or less than one token.
    """
    if asked is None:
        return min(spec.context_length, target.context_cap)
    if not 1 <= asked <= spec.context_length:
        raise InputError(f"--context-length {asked} is not within 1 and the model's {spec.context_length}",
                         "choose a smaller one, or leave it out")  # fmt: skip
    return asked


def _check_source(source: Source, target: Target) -> None:
    """Refuse what would need the file's own blocks, or would round a second time."""
    if target.storage != "fast" and not source.has_blocks:
        raise MobiusError(f"--storage {target.storage} needs the blocks of the GGUF, which the folder has not",
                          f"convert {source.path.name} itself")  # fmt: skip
    if source.rounded and (target.dtype != "float32" or target.dequantize):
        first = next(iter(source.rounded))
        raise MobiusError(
            f"the folder holds rounded numbers, such as of {first}: they must not be rounded again",
            f"convert {source.path.name} itself, or rewrite to a quantized float32 model",
        )


def _check_vocabulary(source: Source, spec: ModelSpec) -> None:
    count = source.token_count
    if count is not None and count != spec.vocab:  # llama.cpp stops here too
        raise MobiusError(
            f"tokenizer.ggml.tokens has {count} tokens, but token_embd.weight {spec.vocab} rows",
            "the metadata and the tensors contradict each other; the file is not convertible as it is",
        )


def _check_leftovers(source: Source, weights: Weights) -> None:
    left = weights.unused()
    if left:
        kind = source.metadata["general.architecture"]
        shown = ", ".join(left[:5]) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
        raise MobiusError(
            f"{len(left)} tensor(s) of {source.path.name} have no place in a {kind} model: {shown}",
            "converting without them could change the output; the file may be of a newer variant",
        )
