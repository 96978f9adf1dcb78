"""The residual stream: additions wait for the norm that follows them, so that one node does both."""

from converters.blocks.context import Build
from converters.blocks.module import Place
from converters.blocks.norm import add_stream_norm, stream_norm
from converters.graph.graph import Value


class Residual:
    """The sum of the embedding and of what the blocks added so far, in the stream's type.

    Where there are several streams, this is the one inside of a layer: what they do around layers is a subclass.
    """

    def __init__(self, b: Build, start: Value) -> None:
        self._b = b
        self._total = b.to_residual(start)
        self._pending: Value | None = None

    def add(self, y: Value) -> None:
        """Add a block's result, which is in the stream's type."""
        self._total, self._pending = self.total(), y

    def total(self) -> Value:
        """The stream."""
        if self._pending is not None:
            self._total = self._b.c.graph.op("Add", self._total, self._pending, name="residual")
            self._pending = None
        return self._total

    def normed(self, name: str) -> Value:
        """The stream's norm, in the stream's type; the stream itself is as before."""
        if self._pending is None:
            return stream_norm(self._b, self._total, name)
        x, self._total = add_stream_norm(self._b, self._total, self._pending, name)
        self._pending = None
        return x

    def rescale(self, scale: Value) -> None:
        """The stream is multiplied by one number, in its type."""
        self._total = self._b.c.graph.op("Mul", self.total(), scale)

    def renew(self, name: str) -> None:
        """The stream becomes its norm."""
        self._total = self.normed(name)

    def enter(self, place: Place) -> None:
        """Before the blocks of a layer."""

    def leave(self, place: Place) -> None:
        """Behind them, before those that read what is corrected."""

    def corrected(self, place: Place) -> Value:
        """What a block reads that stands behind the correction of several streams."""
        raise NotImplementedError

    def add_to_others(self, y: Value) -> None:
        """Add such a block's result, which is in the stream's type."""
        raise NotImplementedError

    def close(self) -> None:
        """Behind the last layer: the stream becomes what the head reads."""
