"""Where a graph chooses experts: what a session needs to see its choices, and to make others."""

from dataclasses import asdict, dataclass
from typing import Any, Self

from converters.checked import typed

CLOSED = -1e4  # the score of an expert that is not to be chosen; float16 holds it
_NUMBERS = ("layer", "count", "used", "groups", "used_groups")
_NAMES = ("products", "scores", "choice", "experts", "shares")


@dataclass(frozen=True)
class RouterRecord:
    """The router of a layer; tensors by the names of their values, [1, tokens, count] in float32.

    Attributes:
        layer: of the model.
        count: experts that there are.
        used: experts that a token takes.
        groups: of experts, 1 where there are none.
        used_groups: that are open to a token, those with the largest sums of two of `choice`.
        products: of the router's matrix.
        scores: made of them; the same name where the products themselves are the scores.
        choice: the scores with what is added for the choice only; the largest of the open groups are chosen.
        experts: int64 [1, tokens, used], the chosen ones, as everything behind reads them.
        shares: where an operator chooses itself, what it reads, [tokens, count] in the activation type: there is no
            tensor `experts` then until somebody adds it; else empty.
    """

    layer: int
    count: int
    used: int
    groups: int
    used_groups: int
    products: str
    scores: str
    choice: str
    experts: str
    shares: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> Self:
        """From JSON. Raises KeyError or TypeError if it is damaged."""
        layer, count, used, groups, used_groups = (typed(entry[key], int) for key in _NUMBERS)
        return cls(layer, count, used, groups, used_groups, *(typed(entry[key], str) for key in _NAMES))
