"""The two ways in which tokens name single bytes: as characters, and as texts such as `<0x0A>`."""

from converters.tokenizer.vocabulary import Vocabulary


def _byte_characters() -> list[str]:
    """The character that stands for each byte in tokens: itself where it prints, else one from 256 on."""
    printing = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printing else chr(next(others)) for byte in range(0x100)]


BYTE_CHARACTERS = tuple(_byte_characters())  # byte-level BPE writes all of its tokens with these
BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(0x100))  # the others have these for what is no token


def warn_of_missing_bytes(vocabulary: Vocabulary, warnings: list[str]) -> None:
    """Announce that some characters cannot be written with byte tokens."""
    missing = [text for text in BYTE_TOKENS if text not in vocabulary.ids]
    if missing:
        warnings.append(f"{len(missing)} of the 256 byte tokens are missing: unknown characters may be lost")
