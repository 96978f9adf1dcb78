"""Which experts each token takes, and with which weights; in float32, since near choices are choices."""

from dataclasses import dataclass, replace

import numpy as np

from converters.blocks.context import WIDE, Build
from converters.blocks.module import Place
from converters.graph.graph import Value
from converters.graph.routers import RouterRecord
from converters.spec import SIGMOID, SIGMOID_OF_CHOSEN, SOFTMAX, SOFTMAX_OF_CHOSEN, Experts, Router

SCORES = {SOFTMAX: "Softmax", SIGMOID: "Sigmoid"}  # operators on all products, on those of the chosen experts
WEIGHTS = {SOFTMAX_OF_CHOSEN: "Softmax", SIGMOID_OF_CHOSEN: "Sigmoid"}
LEAST_SUM = 2.0**-14  # float16's smallest normal number: llama.cpp divides by no less


@dataclass(frozen=True)
class Scored:
    """What the router of `module` makes of tokens, float32 [1, tokens, count], and the graph's name for each.

    `products` of its matrix, `scores` by these, `choice`: with what is added for the choice only.
    """

    products: Value
    scores: Value
    choice: Value
    module: Experts
    layer: int

    def record(self, experts: str, shares: str = "") -> RouterRecord:
        """Where the choice is made."""
        module, router = self.module, self.module.router
        return RouterRecord(
            self.layer, module.count, module.used, router.groups, router.used_groups,
            self.products.name, self.scores.name, self.choice.name, experts, shares,
        )  # fmt: skip


@dataclass(frozen=True)
class Routed:
    """`experts` int64 [1, tokens, used], largest scores first; `scores` float32 of all, `chosen` theirs.

    `router` makes weights of these.
    """

    experts: Value
    scores: Value
    chosen: Value
    router: Router


def score(b: Build, x: Value, module: Experts, place: Place) -> Scored:
    """x [1, tokens, hidden]."""
    c, g, prefix = b.c, b.c.graph, place.prefix
    with g.scope("router"):
        matrix = b.weights.vector(f"{prefix}.ffn_gate_inp.weight", (module.count, b.spec.hidden), dtype=WIDE)
        products = c.operators.matmul_transposed(c, b.wide(x), matrix)
        if f"{prefix}.ffn_gate_inp.bias" in b.weights:
            products = g.op(
                "Add", products, b.weights.vector(f"{prefix}.ffn_gate_inp.bias", (module.count,), dtype=WIDE)
            )
        kind = SCORES.get(module.router.scores)
        scores = choice = products if kind is None else g.op(kind, products)
        if f"{prefix}.exp_probs_b.bias" in b.weights:
            name = f"{prefix}.exp_probs_b.bias"
            choice = g.op("Add", scores, b.weights.vector(name, (module.count,), dtype=WIDE, use="for the choice only"))
        return Scored(products, scores, choice, module, place.layer)


def choose(b: Build, scored: Scored) -> Routed:
    """Of equal scores the first expert is chosen. The graph remembers where."""
    g, module = b.c.graph, scored.module
    with g.scope("router"):
        opened = _open_groups(b, scored.choice, module) if module.router.groups > 1 else scored.choice
        _, experts = g.multi_op("TopK", opened, g.ints(module.used), outputs=2, axis=-1)
        b.c.routers.append(scored.record(experts.name))
        return routed(b, experts, scored.scores, module.router)


def routed(b: Build, experts: Value, scores: Value, router: Router) -> Routed:
    """Chosen experts with their scores."""
    return Routed(experts, scores, b.c.graph.op("GatherElements", scores, experts, axis=2), router)


def simplest(b: Build, module: Experts, prefix: str) -> Experts:
    """With the router that does the same in the fewest steps: shares of the chosen need no softmax over all.

    Their sum is at least used / count, far above what llama.cpp divides by at least.
    """
    router = module.router
    plain = router.groups == 1 and f"{prefix}.exp_probs_b.bias" not in b.weights
    if router.scores != SOFTMAX or not router.normalize or not plain:
        return module
    return replace(module, router=replace(router, scores=SOFTMAX_OF_CHOSEN, normalize=False))


def weights_of(b: Build, routed: Routed) -> Value:
    """What multiplies the results of the chosen experts: float32 [1, tokens, used]."""
    c, g, router = b.c, b.c.graph, routed.router
    kind = WEIGHTS.get(router.scores)
    weights = routed.chosen if kind is None else g.op(kind, routed.chosen)
    if router.normalize:
        total = g.op("ReduceSum", weights, g.ints(-1))
        weights = g.op("Div", weights, g.op("Max", total, c.number("least_sum", LEAST_SUM, WIDE)))
    if router.scale != 1.0:
        weights = g.op("Mul", weights, c.number("router_scale", router.scale, WIDE))
    return weights


def _open_groups(b: Build, choice: Value, module: Experts) -> Value:
    """The scores, minus infinity where an expert's group is closed."""
    c, g, router = b.c, b.c.graph, module.router
    size = module.count // router.groups
    grouped = g.op("Reshape", choice, g.ints(0, 0, router.groups, size))
    best, _ = g.multi_op("TopK", grouped, g.ints(2), outputs=2, axis=-1)
    sums = g.op("ReduceSum", best, g.ints(-1), keepdims=0)
    _, chosen = g.multi_op("TopK", sums, g.ints(router.used_groups), outputs=2, axis=-1)
    numbers = g.constant(f"group_numbers_{router.groups}", np.arange(router.groups, dtype=np.int64).reshape(-1, 1))
    same = g.cast(g.op("Equal", g.op("Unsqueeze", chosen, g.ints(-2)), numbers), "int32")
    opened = g.cast(g.op("ReduceMax", same, g.ints(-1)), "bool")  # [1, tokens, groups, 1]
    closed = c.number("closed", float("-inf"), WIDE)
    return g.op("Reshape", g.op("Where", opened, grouped, closed), g.ints(0, 0, module.count))
