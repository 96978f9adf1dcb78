"""A feed-forward whose inputs are mixed with those of the token before."""

from converters.blocks.context import Build
from converters.blocks.linear import linear
from converters.blocks.module import Place, emits
from converters.blocks.token_shift import before
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.spec import ChannelMix


@emits(ChannelMix)
def channel_mix(b: Build, x: Value, module: ChannelMix, place: Place, inputs: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]: v(relu(k(x))^2), times sigmoid(r(x)) if gated."""
    g, hidden, prefix = b.c.graph, b.spec.hidden, f"{place.prefix}.channel_mix"
    with g.scope("channel_mix"):
        change = g.op("Sub", before(b, x, place, inputs, row=1, rows=2), x)

        def mixed(part: str) -> Value:
            return g.op("Add", x, g.op("Mul", change, b.weights.vector(f"{prefix}_lerp_{part}.weight", (hidden,))))

        gate = None
        if module.gated:
            gate = g.op("Sigmoid", linear(b, mixed("r"), f"{prefix}_receptance", hidden, hidden))
        k = g.op("Relu", linear(b, mixed("k"), f"{prefix}_key", module.width, hidden))
        y = linear(b, g.op("Mul", k, k), f"{prefix}_value", hidden, module.width)
        return y if gate is None else g.op("Mul", gate, y)
