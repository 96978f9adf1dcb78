"""What a proof finds: where a folder is not what its source makes of it."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Difference:
    """`part` is "weights", "graph", "files" or "logits"; `where` a tensor, node, file, prompt; `what` comes behind."""

    part: str
    where: str
    what: str

    def __str__(self) -> str:
        """For people."""
        return f"{self.where}: {self.what}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass
class Findings:
    """What was compared so far, and how it differed."""

    tensors: int = 0
    weights: int = 0
    nodes: int = 0
    files: int = 0
    notes: list[str] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)

    def add(self, part: str, where: str, what: str) -> None:
        """One more difference."""
        self.differences.append(Difference(part, where, what))
