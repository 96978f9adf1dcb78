"""What `mobius.json` says of a folder's tokenizer."""

from dataclasses import asdict, dataclass
from typing import Any, Self

from converters.checked import each, typed


@dataclass(frozen=True)
class TokenizerRecord:
    """What the tokenizer's own files do not tell; see `converters.tokenizer.stored.token_ids`."""

    bos_token_id: int | None
    eos_token_ids: tuple[int, ...]
    pad_token_id: int | None
    suppress_token_ids: tuple[int, ...]
    add_bos: bool
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> Self:
        """From JSON. Raises KeyError or TypeError if it is damaged."""

        def token(key: str) -> int | None:
            return None if entry[key] is None else typed(entry[key], int)

        return cls(
            bos_token_id=token("bos_token_id"),
            eos_token_ids=each(entry["eos_token_ids"], int),
            pad_token_id=token("pad_token_id"),
            suppress_token_ids=each(entry["suppress_token_ids"], int),
            add_bos=typed(entry["add_bos"], bool),
            warnings=each(entry["warnings"], str),
        )
