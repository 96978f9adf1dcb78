"""Several residual streams (AltUp, arXiv 2301.13310): layers work on a prediction of the first and correct them all."""

from converters.blocks.context import WIDE, Build
from converters.blocks.linear import linear, wide_linear
from converters.blocks.module import Place
from converters.blocks.norm import stream_norm
from converters.blocks.residual import Residual
from converters.graph.graph import Value

_LEAST = 1e-30  # in place of the squares of a vector of zeros: converters pad vocabularies with such embeddings


class AltUp(Residual):
    """`count` streams side by side, [batch, sequence, count, hidden], in the stream's type.

    Inside of a layer the residual stream is the prediction of the first one.
    """

    def __init__(self, b: Build, start: Value, count: int) -> None:
        super().__init__(b, start)
        assert b.residual_dtype == WIDE, "float16 holds no squares of such streams"
        self._count = count
        g = b.c.graph
        with g.scope("altup"):
            first, rows = self._alone(self._total), (count - 1) * b.spec.hidden
            made = wide_linear(b, self._total, "altup_proj", rows, b.spec.hidden)
            others = g.op("Reshape", made, g.ints(0, 0, count - 1, b.spec.hidden))
            self._streams = g.op("Concat", first, self._as_long_as(first, others), axis=2)
        self._predicted, self._entered = self._streams, self._total

    def enter(self, place: Place) -> None:
        """Predict all streams from all of them, by coefficients that the first one chooses."""
        g, n = self._b.c.graph, self._count
        with g.scope("altup"):
            chosen = self._chosen(self._first(self._streams), place)
            mixing = self._coefficients(chosen, f"{place.prefix}.altup_predict_coef", n * n)
            mixed = g.op("MatMul", g.op("Reshape", mixing, g.ints(0, 0, n, n)), self._streams)
            self._predicted = g.op("Add", mixed, self._streams)
            self._total = self._first(self._predicted)
        self._entered = self._total

    def leave(self, place: Place) -> None:
        """Correct all predictions by what the layer added to the first, each by a share that the result chooses."""
        c, g, n = self._b.c, self._b.c.graph, self._count
        result = self.total()
        with g.scope("altup"):
            shares = self._coefficients(self._chosen(result, place), f"{place.prefix}.altup_correct_coef", n)
            shares = g.op("Add", shares, c.number("one", 1.0, WIDE))
            added = self._alone(g.op("Sub", result, self._entered))
            change = g.op("Mul", added, g.op("Unsqueeze", shares, g.ints(3)))
            self._streams = g.op("Add", self._predicted, change)

    def corrected(self, place: Place) -> Value:
        """The first stream behind the correction, scaled for those blocks that read it."""
        b = self._b
        scale = b.weights.vector(f"{place.prefix}.altup_correct_scale.weight", (b.spec.hidden,), dtype=b.residual_dtype)
        return b.c.graph.op("Mul", self._first(self._streams), scale)

    def add_to_others(self, y: Value) -> None:
        """Add a block's result to all streams but the first."""
        g = self._b.c.graph
        first, others = g.multi_op("Split", self._streams, g.ints(1, self._count - 1), outputs=2, axis=2)
        self._streams = g.op("Concat", first, g.op("Add", others, self._alone(y)), axis=2)

    def close(self) -> None:
        """The residual stream becomes the mean of the first and of what the others are projected to."""
        b, g, n = self._b, self._b.c.graph, self._count
        with g.scope("altup"):
            first, others = g.multi_op("Split", self._streams, g.ints(1, n - 1), outputs=2, axis=2)
            # Each of the others by a matrix of its own: of all products those of stream i and matrix i.
            flat, rows = g.op("Reshape", others, g.ints(0, -1, b.spec.hidden)), (n - 1) * b.spec.hidden
            made = wide_linear(b, flat, "altup_unembd_proj", rows, b.spec.hidden)
            pairs = g.op("Reshape", made, g.ints(0, -1, (n - 1) ** 2, b.spec.hidden))
            own = g.op("Gather", pairs, g.ints(*range(0, (n - 1) ** 2, n)), axis=2)
            whole = g.op("Concat", first, self._as_long_as(first, own), axis=2)
            self._total = g.op("ReduceMean", whole, g.ints(2), keepdims=0)

    def _alone(self, x: Value) -> Value:
        """[batch, sequence, hidden] -> [batch, sequence, 1, hidden]."""
        return self._b.c.graph.op("Unsqueeze", x, self._b.c.graph.ints(2))

    def _first(self, streams: Value) -> Value:
        """[batch, sequence, count, hidden] -> [batch, sequence, hidden]."""
        return self._b.c.graph.op("Gather", streams, self._b.c.integer("first_stream", 0), axis=2)

    def _chosen(self, x: Value, place: Place) -> Value:
        """The router: [batch, sequence, hidden] -> [batch, sequence, count], between -1 and 1."""
        b = self._b
        routed = stream_norm(b, x, f"{place.prefix}.altup_router_norm")
        routed = linear(b, b.to_activation(routed), f"{place.prefix}.altup_router", self._count, b.spec.hidden)
        share = b.c.number("router_scale", 1 / b.spec.hidden, WIDE)
        return b.c.graph.op("Tanh", b.c.graph.op("Mul", b.to_residual(routed), share))

    def _coefficients(self, chosen: Value, name: str, rows: int) -> Value:
        """[batch, sequence, count] -> [batch, sequence, rows], in float32: they multiply whole streams."""
        matrix = self._b.weights.vector(f"{name}.weight", (rows, self._count), dtype=WIDE)
        return self._b.c.operators.matmul_transposed(self._b.c, chosen, matrix)

    def _as_long_as(self, first: Value, others: Value) -> Value:
        """The other vectors, each as long as the first."""
        g = self._b.c.graph
        return g.op("Div", g.op("Mul", others, self._length(first)), self._length(others))

    def _length(self, x: Value) -> Value:
        c, g = self._b.c, self._b.c.graph
        squares = g.op("ReduceSum", g.op("Mul", x, x), g.ints(-1), keepdims=1)
        return g.op("Sqrt", g.op("Max", squares, c.number("least_square", _LEAST, WIDE)))
