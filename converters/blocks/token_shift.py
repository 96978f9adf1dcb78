"""What stands one token before each: a state of one row for each block of a layer that asks."""

from dataclasses import dataclass, field

from converters.blocks.context import Build
from converters.blocks.module import Place
from converters.blocks.short_conv import last_tokens
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.graph.padding import real
from converters.graph.positions import sequence_length
from converters.graph.states import CONVOLUTION, State


@dataclass
class _Rows:
    """A layer's state, its graph input, and the rows of the next state as far as blocks have made them."""

    state: State
    past: Value
    made: list[Value] = field(default_factory=list)


def before(b: Build, x: Value, place: Place, inputs: SequenceInputs, *, row: int, rows: int) -> Value:
    """As x [batch, sequence, hidden], one token later; `row` of the layer's `rows`, which ask in this order."""
    c, g = b.c, b.c.graph

    def make() -> _Rows:
        state = b.fixed_state(place.layer, CONVOLUTION, rows, b.spec.hidden)
        return _Rows(state, c.past(state))

    found = c.shared(("token shift", place.layer), make)
    x = g.op("Mul", b.wide(x), real(c, inputs))
    past = found.past if rows == 1 else g.op("Slice", found.past, g.ints(row), g.ints(row + 1), g.ints(1))
    seen = g.op("Concat", past, x, axis=1)
    found.made.append(last_tokens(c, seen, 1, b.spec.hidden, inputs))
    if len(found.made) == rows:
        c.keep(found.state, found.made[0] if rows == 1 else g.op("Concat", *found.made, axis=1))
    return b.narrow(g.op("Slice", seen, g.ints(0), sequence_length(c, inputs), g.ints(1)))
