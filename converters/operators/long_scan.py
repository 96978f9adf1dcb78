"""A gated scan that takes long steps in chunks, and short ones token by token.

On a CPU (two threads, 48 heads of 64 values by 128 keys) LinearAttention takes 0.3 ms for one token and 55 to 90 ms for
512, a Loop over chunks 0.6 and 27. An If around the kernel costs a token nothing that could be measured.
"""

from collections.abc import Callable

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.graph.recurrent import ScanInputs
from converters.operators.chunked_scan import CHUNK, chunked_scan
from converters.operators.chunks import cut, filling, lower


def long_scan(
    c: GraphContext, given: ScanInputs, past: Value, short: Callable[[], tuple[Value, Value]]
) -> tuple[Value, Value]:
    """See `OperatorSet.gated_scan`: `chunked_scan` of more tokens than a chunk has, else what `short` makes."""
    g = c.graph
    with g.scope("chunks"):  # what all layers share, hence before the branches
        chunks = cut(c, given.q, CHUNK)
        lower(c, chunks)
        filling(c, chunks)
        is_long = c.shared("long", lambda: g.op("Greater", chunks.length, g.ints(CHUNK)))
    with g.body("long", []) as many:
        many.outputs += chunked_scan(c, given, past)
    with g.body("short", []) as few:
        few.outputs += short()
    y, present = g.multi_op("If", is_long, outputs=2, then_branch=many, else_branch=few)
    return y, present
