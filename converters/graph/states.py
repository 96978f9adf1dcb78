"""What layers carry from token to token: one list of named, typed states that everything outside of a graph reads."""

from dataclasses import asdict, dataclass
from typing import Any

PAST, PRESENT = "past_key_values", "present"  # what onnxruntime-genai expects before ".N.part", whatever the state is
# The parts that onnxruntime-genai knows beside keys and values, by these names.
CONVOLUTION, RECURRENT = "conv_state", "recurrent_state"
BATCH, PAST_LENGTH, TOTAL_LENGTH = "batch_size", "past_sequence_length", "total_sequence_length"


@dataclass(frozen=True)
class State:
    """A graph input, and the output that takes its place in the next run.

    Attributes:
        part: what of the layer it is, such as "key" or "value".
        index: counts the layers that have states; N in the names.
        layer: the layer of the model.
        dtype: "float32", "float16" or "bfloat16".
        shape: of the input: numbers, BATCH, and PAST_LENGTH where it has an axis of positions.
        in_place: input and output are one buffer, as long as the longest sequence; else the output is a new array.
    """

    part: str
    index: int
    layer: int
    dtype: str
    shape: tuple[int | str, ...]
    in_place: bool

    @property
    def input(self) -> str:
        """Name of the graph's input."""
        return f"{PAST}.{self.index}.{self.part}"

    @property
    def output(self) -> str:
        """Name of the graph's output."""
        return f"{PRESENT}.{self.index}.{self.part}"

    @property
    def output_shape(self) -> tuple[int | str, ...]:
        """As `shape`, after the run."""
        return tuple(TOTAL_LENGTH if size == PAST_LENGTH else size for size in self.shape)

    @property
    def position_axis(self) -> int | None:
        """The axis along which positions stand, which can be cut to go back in a text; None: go back by a snapshot."""
        return self.shape.index(PAST_LENGTH) if PAST_LENGTH in self.shape else None

    def sizes(self, positions: int, batch: int = 1) -> tuple[int, ...]:
        """The shape of an array that holds so many positions."""
        known = {BATCH: batch, PAST_LENGTH: positions}
        return tuple(known[size] if isinstance(size, str) else size for size in self.shape)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; the names are in it for people, `from_dict` makes them again."""
        return {"input": self.input, "output": self.output, **asdict(self), "shape": list(self.shape)}

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> "State":
        """From what `as_dict` gave. Raises KeyError, TypeError or ValueError if it is damaged."""
        shape = tuple(size if size in (BATCH, PAST_LENGTH) else int(size) for size in entry["shape"])
        part, dtype, in_place = str(entry["part"]), str(entry["dtype"]), bool(entry["in_place"])
        return cls(part, int(entry["index"]), int(entry["layer"]), dtype, shape, in_place)
