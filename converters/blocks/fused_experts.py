"""Experts in one operator, com.microsoft::QMoE, where it holds a layer exactly.

It chooses the experts and makes their weights by a softmax over the chosen, on every provider; CUDA's takes no others.
Where that is what the model does, it is given the logarithms of all experts' shares: the choice is then one of numbers
in the activation type, whose rounding is below that of what the router reads. Else the choice is made before, and it is
given the logarithms of the chosen experts' weights, over the largest of the token, and a score that is out of the
question for all others; what the weights of a token add up to multiplies the result.
"""

from typing import Any

import numpy as np

from converters.blocks.context import WIDE, Build
from converters.blocks.expert_extras import extras
from converters.blocks.router import Routed, Scored, weights_of
from converters.graph.graph import MICROSOFT, Value
from converters.graph.routers import CLOSED
from converters.spec import SOFTMAX_OF_CHOSEN, ClampedSwiglu, Experts
from converters.weights.mixture import MIXTURE_KINDS, Mixture

CHANNELS_STEP = 64  # CUDA's kernels take multiples of this
LEAST_WEIGHT = 1e-30  # of a chosen one: its logarithm is a number, and far above CLOSED


def fits(b: Build, module: Experts, prefix: str) -> bool:
    """Whether the operator holds the layer: one type that the target names, and the arithmetic in its order."""
    stems = _stems(module, prefix)
    names = [f"{stem}.weight" for stem in stems]
    if module.weighs_inputs or module.gate == "none" or not b.weights.one_type(names, expert=0):
        return False
    kind = b.weights.source.tensors[names[0]].type_name
    sizes = (module.channels(b.spec.hidden), module.width)
    if kind not in b.c.target.fused_experts or any(size % CHANNELS_STEP for size in sizes):
        return False
    known = module.activation == "silu" or isinstance(module.activation, ClampedSwiglu)
    return known and _scales_fit(b, stems, MIXTURE_KINDS[kind].scale is not None)


def _scales_fit(b: Build, stems: list[str], global_scales: bool) -> bool:
    """Second-level scales are none, or one for an expert's gate and up together."""
    found = [f"{stem}.scale" for stem in stems if f"{stem}.scale" in b.weights]
    if not found:
        return True
    inner = [f"{stem}.scale" for stem in stems[:-1]]
    have = [name in b.weights for name in inner]
    if not global_scales or any(have) != all(have):
        return False
    values = [b.weights.source.floats(name) for name in inner if name in b.weights]
    return all(np.array_equal(one, values[0]) for one in values)


def _stems(module: Experts, prefix: str) -> list[str]:
    """Of the tensors' names: what reads the hidden state, gate first, and down."""
    parts = ("gate_up", "down") if module.gate == "fused" else ("gate", "up", "down")
    return [f"{prefix}.ffn_{part}{module.suffix}" for part in parts]


def chooses(scored: Scored) -> bool:
    """Whether the operator's own choice and weights are the model's."""
    return scored.module.router.scores == SOFTMAX_OF_CHOSEN and scored.choice is scored.products


def choosing_experts(b: Build, x: Value, scored: Scored, module: Experts, prefix: str) -> Value:
    """What the experts add that the operator chooses: x [1, tokens, channels] -> the same."""
    g, scale = b.c.graph, scored.module.router.scale
    with g.scope("shares"):
        shares = g.op("Reshape", b.narrow(g.op("LogSoftmax", scored.products)), g.ints(-1, module.count))
    b.c.routers.append(scored.record(f"{shares.name}/experts", shares.name))
    y = _operator(b, x, shares, module, prefix)
    return y if scale == 1.0 else g.op("Mul", y, b.c.number("router_scale", scale))


def fused_experts(b: Build, x: Value, routed: Routed, module: Experts, prefix: str) -> Value:
    """What the chosen experts add: x [1, tokens, channels] -> the same."""
    scores, total = _scores(b, routed, module.count)
    return b.c.graph.op("Mul", _operator(b, x, scores, module, prefix), total)


def _operator(b: Build, x: Value, scores: Value, module: Experts, prefix: str) -> Value:
    g, (*inner, down), count = b.c.graph, _stems(module, prefix), module.count
    hidden, width = module.channels(b.spec.hidden), module.width
    rows = 2 * width // len(inner)
    name = f"{prefix}.ffn_gate_up{module.suffix}.weight"
    first = b.weights.mixture(name, [(f"{stem}.weight", rows) for stem in inner], count, hidden, in_turn=True)
    second = b.weights.mixture(f"{down}.weight", [(f"{down}.weight", hidden)], count, width, in_turn=False)
    inputs: list[Value | None] = [
        x, scores, first.codes, first.scale, _inner_bias(b, inner, count, rows),
        second.codes, second.scale, extras(b, down, count, hidden)[0] if f"{down}.bias" in b.weights else None,
    ]  # fmt: skip
    if first.kind.scale:
        inputs += [*[None] * 7, _global_scale(b, inner, count), _global_scale(b, [down], count)]
    return g.op("QMoE", *inputs, domain=MICROSOFT, **_attributes(module, first))


def _attributes(module: Experts, matrices: Mixture) -> dict[str, Any]:
    found: dict[str, Any] = {
        "k": module.used, "normalize_routing_weights": 1, "activation_type": "swiglu", "swiglu_fusion": 1,
        "activation_alpha": 1.0, "activation_beta": 0.0, "quant_type": matrices.kind.quant_type,
        "expert_weight_bits": matrices.kind.bits, "block_size": matrices.block_size, "weights_prepacked": 0,
    }  # fmt: skip
    kind = module.activation
    if isinstance(kind, ClampedSwiglu):
        found |= {"activation_alpha": kind.alpha, "activation_beta": 1.0, "swiglu_limit": kind.limit}
    return found


def _scores(b: Build, routed: Routed, count: int) -> tuple[Value, Value]:
    """(scores [tokens, experts] whose softmax over the chosen is the weights' shares, the weights' sums)."""
    c, g = b.c, b.c.graph
    with g.scope("scores"):
        given = weights_of(b, routed)
        weights = g.op("Max", given, c.number("least_weight", LEAST_WEIGHT, WIDE))
        shares = g.op("Log", g.op("Div", weights, g.op("ReduceMax", weights, g.ints(-1))))
        shape = g.op("Concat", g.op("Shape", shares, start=0, end=2), g.ints(count), axis=0)
        closed = g.op("Expand", c.number("closed_score", CLOSED), shape)
        scores = g.op("ScatterElements", closed, routed.experts, b.narrow(shares), axis=2)
        return g.op("Reshape", scores, g.ints(-1, count)), b.narrow(g.op("ReduceSum", given, g.ints(-1)))


def _inner_bias(b: Build, stems: list[str], count: int, rows: int) -> Value | None:
    """Of gate and up, in turn: [experts, rows of both]; a session folds the nodes."""
    found = [extras(b, stem, count, rows)[0] if f"{stem}.bias" in b.weights else None for stem in stems]
    biases = [bias for bias in found if bias is not None]
    if not biases:
        return None
    g, both = b.c.graph, rows * len(stems)
    if len(biases) != len(stems):
        zero = g.constant(f"no_bias_{count}_{rows}", np.zeros((count, rows), b.c.target.dtype))
        biases = [zero if bias is None else bias for bias in found]
    joined = biases[0] if len(biases) == 1 else g.op("Concat", *biases, axis=1)
    turned = g.op("Transpose", g.op("Reshape", joined, g.ints(count, 2, both // 2)), perm=[0, 2, 1])
    return g.op("Reshape", turned, g.ints(count, both))


def _global_scale(b: Build, stems: list[str], count: int) -> Value:
    """Second-level scales, ones where the file has none: float32 [experts]."""
    names = [f"{stem}.scale" for stem in stems]
    if names[0] not in b.weights:
        return b.c.graph.constant(f"global_scale_{count}", np.ones(count, np.float32))
    for name in names[1:]:
        b.weights.set_aside_one(name, reason=f"as {names[0]}")
    return b.weights.vector(names[0], (count,), dtype=WIDE, use="multiplies the result")
