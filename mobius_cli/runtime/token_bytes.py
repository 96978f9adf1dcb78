"""What each token stands for: bytes, as llama.cpp puts them together, for a token may end inside a character."""

import codecs
import json
from collections.abc import Callable
from typing import Any

from converters.tokenizer.vocabulary import BYTE_CHARACTERS, BYTE_TOKENS
from repack.errors import InputError


class TokenBytes:
    """The bytes of the tokens of one `tokenizers.Tokenizer`, by what its decoder does."""

    def __init__(self, tokenizer: Any) -> None:
        self._text = tokenizer.id_to_token
        self._added = tokenizer.get_added_tokens_decoder()
        if tokenizer.decoder is None:
            raise InputError("tokenizer.json has no decoder: its tokens have no text", "mobius run cannot print them")
        decoder = json.loads(tokenizer.decoder.__getstate__())
        steps = decoder.get("decoders", [decoder])
        types = {step["type"] for step in steps}
        named = {"ByteLevel": BYTE_CHARACTERS, "ByteFallback": BYTE_TOKENS}
        self._bytes = {text: byte for step in types & set(named) for byte, text in enumerate(named[step])}
        self._byte_level = "ByteLevel" in types
        self._strips = "Strip" in types
        self._replace = _replacements(steps)

    def of(self, token: int) -> bytes:
        """The bytes of a token; none for an id that is no token, as there are where a vocabulary is padded."""
        if token in self._added:
            return str(self._added[token].content).encode()
        text = self._replace(str(self._text(token) or ""))
        if self._byte_level:
            known = all(c in self._bytes for c in text)
            return bytes(self._bytes[c] for c in text) if known else text.encode()
        return bytes([self._bytes[text]]) if text in self._bytes else text.encode()

    def show(self, token: int) -> str:
        """A token for a person: its text in quotes."""
        return repr(self.of(token).decode(errors="replace"))

    def stream(self) -> Callable[[int], str]:
        """A function that turns tokens into text one by one, holding back incomplete characters.

        Special tokens have no text, and the space that texts begin with in some vocabularies is left out.
        """
        decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        at_start = self._strips

        def step(token: int) -> str:
            nonlocal at_start
            piece = b"" if token in self._added and self._added[token].special else self.of(token)
            if at_start and piece:
                piece, at_start = piece.removeprefix(b" "), False
            return decode(piece)

        return step


def _replacements(steps: list[dict[str, Any]]) -> Callable[[str], str]:
    """The decoder's own steps that replace texts, for one token."""
    from tokenizers import Regex, decoders

    found = []
    for step in steps:
        if step["type"] == "Replace":
            pattern = step["pattern"]
            found.append(decoders.Replace(pattern.get("String") or Regex(pattern["Regex"]), step["content"]))
    sequence = decoders.Sequence(found)
    return lambda text: str(sequence.decode([text]))
