"""A learned residual of low rank beside attention."""

from converters.blocks.context import Build
from converters.blocks.linear import linear
from converters.blocks.module import Place, emits
from converters.blocks.norm import norm
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.spec import Laurel


@emits(Laurel)
def laurel(b: Build, x: Value, module: Laurel, place: Place, _: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden].

    x + norm(right(left(x))), with x in it: what a block adds to the stream is all of this.
    """
    prefix, hidden = place.prefix, b.spec.hidden
    with b.c.graph.scope("laurel"):
        low = linear(b, x, f"{prefix}.laurel_l", module.rank, hidden)
        y = norm(b, linear(b, low, f"{prefix}.laurel_r", hidden, module.rank), f"{prefix}.laurel_post_norm", hidden)
        return b.c.graph.op("Add", x, y)
