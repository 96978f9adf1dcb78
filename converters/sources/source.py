"""What a model can be converted from: one protocol, whatever stands behind it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from converters.folder.source_file import OnBytes, SourceFile, ignored
from converters.weights.rounding import Rounding
from repack.block_quantized import BlockMatrix

if TYPE_CHECKING:
    from converters.tokenizer.export import TokenizerFiles

Order = npt.NDArray[np.intp] | None  # picks rows; or elements, where it has as many entries as the tensor


class Tensor(Protocol):
    """A tensor of a source: `shape` outermost first, `type_name` as ggml has it, `nbytes` of the file's own form."""

    @property
    def name(self) -> str:
        """The GGUF's."""

    @property
    def shape(self) -> tuple[int, ...]:
        """[rows, columns] of a matrix."""

    @property
    def type_name(self) -> str:
        """Such as "Q4_K"."""

    @property
    def nbytes(self) -> int | None:
        """None where the type is not known."""


class Source(Protocol):
    """A model: metadata and tensors under GGUF's names; nothing is read before it is asked for.

    `order` is that of the graph, in which a source that was a graph already stands. `expert` asks for one matrix of a
    stack [experts, rows, columns], which is then all that is read.
    """

    @property
    def path(self) -> Path:
        """The model's file, for people; it need not exist any more."""

    @property
    def size(self) -> int:
        """Bytes of all its files."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Under GGUF's keys."""

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """All tensors by name, also those that no graph needs."""

    @property
    def token_count(self) -> int | None:
        """Tokens of the vocabulary that the metadata lists; None where they list none."""

    @property
    def has_blocks(self) -> bool:
        """Whether quantized tensors still are in the blocks of their file, as `--storage small` needs them."""

    @property
    def kind(self) -> str:
        """What it was made as, for people: "GGUF" or "checkpoint"."""

    @property
    def half_split(self) -> bool:
        """Whether rows of q and k pair channels (i, i + dim / 2) in every architecture, as no GGUF file promises."""

    @property
    def rounded(self) -> Mapping[str, Mapping[str, Rounding]]:
        """What was rounded already when the source was made, by tensor and kind of number."""

    def matrix(self, name: str, order: Order = None, expert: int | None = None) -> BlockMatrix | None:
        """A quantized tensor; None for floats.

        Raises:
            MobiusError: its rows are no whole blocks, or the source does not hold it any more.
        """

    def floats(self, name: str, order: Order = None, expert: int | None = None) -> npt.NDArray[np.float32]:
        """The weights of any tensor, as they are in float32, in its own shape."""

    def raw(self, name: str, order: Order = None, expert: int | None = None) -> npt.NDArray[np.uint8]:
        """The bytes of a tensor of floats: uint8 [rows, bytes of a row]."""

    def tokenizer(self) -> "TokenizerFiles":
        """The tokenizer's files.

        Raises:
            MobiusError: they cannot be made.
        """

    @property
    def files(self) -> Sequence[Path]:
        """Those that `provenance` reads, in its order."""

    @property
    def provenance_bytes(self) -> int:
        """How many bytes `provenance` reads."""

    def provenance(self, on_bytes: OnBytes = ignored) -> list[SourceFile]:
        """Name, hash and size of each file of the model; tells of every piece that it has read."""

    def __enter__(self) -> Self:
        """Give the files back at the end of a `with`."""

    def __exit__(self, *_: object) -> None:
        """Give the files back."""
