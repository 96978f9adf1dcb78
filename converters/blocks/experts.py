"""Mixtures of experts: a router, the products of the experts that it chooses, and what all tokens share."""

from converters.blocks.context import Build
from converters.blocks.fused_experts import chooses, choosing_experts, fits, fused_experts
from converters.blocks.gathered_experts import gathered_experts
from converters.blocks.mlp import feed_forward
from converters.blocks.module import Place, emits
from converters.blocks.router import Routed, choose, score, simplest
from converters.blocks.sorted_experts import sorted_experts
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.spec import Experts


@emits(Experts)
def experts(b: Build, x: Value, module: Experts, place: Place, _: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    read = x
    if module.router.reads_layer_input:
        assert place.stream is not None
        read = place.stream
    return mixture(b, x, read, module, place)


def mixture(b: Build, x: Value, read: Value, module: Experts, place: Place) -> Value:
    """What experts make of x, chosen by what the router makes of `read`, of either type: both as x is."""
    g, prefix = b.c.graph, place.prefix
    with g.scope("experts"):
        tokens = g.op("Reshape", x, g.ints(1, -1, b.spec.hidden))
        asked = tokens if read is x else g.op("Reshape", read, g.ints(1, -1, b.spec.hidden))
        scored, entered = score(b, asked, simplest(b, module, prefix), place), _entered(b, tokens, module, prefix)
        if chooses(scored) and fits(b, module, prefix):
            y = choosing_experts(b, entered, scored, module, prefix)
        else:
            y = chosen(b, entered, choose(b, scored), module, prefix)
        if module.latent:
            y = b.weights.matrix(f"{prefix}.ffn_latent_up.weight", (b.spec.hidden, module.latent)).product(b.c, y)
        y = g.op("Reshape", y, g.op("Shape", x))
        if module.shared is not None:
            y = g.op("Add", y, _shared(b, x, module, prefix))
        return y if module.sum_scale == 1.0 else g.op("Mul", y, b.c.number("sum_scale", module.sum_scale))


def _shared(b: Build, x: Value, module: Experts, prefix: str) -> Value:
    """The feed-forward that every token takes."""
    assert module.shared is not None
    y = feed_forward(b, x, module.shared, prefix, module.shared_suffix)
    if not module.shared_gate:
        return y
    matrix = b.weights.vector(f"{prefix}.ffn_gate_inp_shexp.weight", (1, b.spec.hidden))
    return b.c.graph.op("Mul", y, b.c.graph.op("Sigmoid", b.c.operators.matmul_transposed(b.c, x, matrix)))


def chosen(b: Build, x: Value, routed: Routed, module: Experts, prefix: str) -> Value:
    """What the chosen experts add: x [1, tokens, channels] -> [tokens, 1, channels], or as x is."""
    if fits(b, module, prefix):
        return fused_experts(b, x, routed, module, prefix)
    form = gathered_experts if b.c.target.gathers_experts else sorted_experts
    return form(b, x, routed, module, prefix)


def _entered(b: Build, x: Value, module: Experts, prefix: str) -> Value:
    """What the experts read, which may be fewer channels: [1, tokens, channels]."""
    if not module.latent:
        return x
    return b.weights.matrix(f"{prefix}.ffn_latent_down.weight", (module.latent, b.spec.hidden)).product(b.c, x)
