"""The mixer of LFM 2: a short convolution between two gates that the input opens."""

from converters.blocks.context import Build
from converters.blocks.linear import linear
from converters.blocks.module import Place, emits
from converters.blocks.short_conv import short_conv
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.spec import GatedShortConv


@emits(GatedShortConv)
def gated_short_conv(b: Build, x: Value, module: GatedShortConv, place: Place, inputs: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]: out(after * conv(before * mixed))."""
    g, hidden, prefix = b.c.graph, b.spec.hidden, f"{place.prefix}.shortconv"
    with g.scope("shortconv"):
        parts = linear(b, x, f"{prefix}.in_proj", 3 * hidden, hidden)
        before, after, mixed = g.multi_op("Split", parts, g.ints(hidden, hidden, hidden), outputs=3, axis=-1)
        y = short_conv(b, g.op("Mul", before, mixed), f"{prefix}.conv", hidden, module.kernel, place, inputs)
        return linear(b, g.op("Mul", after, b.from_mixing(y)), f"{prefix}.out_proj", hidden, hidden)
