"""The tokens that a model has read: of a new text, only what differs is run."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from mobius_cli.runtime.decoding import Decoding

F32 = npt.NDArray[np.float32]
CHUNK = 256  # tokens per pass: bounds the memory of logits, which are [tokens, vocabulary]


def never() -> bool:
    """For what cannot be stopped."""
    return False


class TokenCache:
    """One sequence that is kept from text to text.

    Attributes:
        ids: the tokens that were run.
    """

    def __init__(self, decoding: Decoding) -> None:
        """`decoding` is an empty sequence."""
        self._decoding = decoding
        self.ids: list[int] = []

    def extend_to(self, ids: Sequence[int], stopped: Callable[[], bool] = never) -> F32 | None:
        """Logits after the last of `ids`; runs those behind the longest common start, or None if stopped before."""
        # The last token is run again where it is there already: its logits are not kept.
        self._go_back(min(_shared(self.ids, ids), len(ids) - 1))
        row: F32 | None = None
        for at in range(len(self.ids), len(ids), CHUNK):
            if stopped():
                return None
            row = self.append(ids[at : at + CHUNK])
        self._decoding.mark()  # a following text may share no more than this one
        return row

    def append(self, ids: Sequence[int]) -> F32:
        """Run more tokens; logits after the last of them."""
        row: F32 = self._decoding.run(ids)[-1]
        self.ids += ids
        return row

    def _go_back(self, length: int) -> None:
        if length == self._decoding.past:
            return
        kept = self._decoding.reachable(length)
        self._decoding.rewind(kept)
        del self.ids[kept:]


def _shared(left: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens at the start are the same."""
    pairs = zip(left, right, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))
