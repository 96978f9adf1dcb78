"""Our export of any tokenizer kind beside llama.cpp's own tokenizer: ids, texts of ids, and ids that end generation."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from converters.tokenizer import TokenizerFiles, export_tokenizer
from mobius_cli.runtime.token_bytes import TokenBytes
from tests.converters.tokenizer.support.vocab_files import BYTE, write_gguf
from tests.support.llama_vocab import LlamaVocab

# llama_detokenize leaves out the space that these kinds put before a text. With the others it also leaves out spaces
# that belong to the text (of "Hello ." and "it 's"): there the text is that of the tokens, one after the other.
_DETOKENIZED = ("llama", "t5")
_NO_BYTES = b"[UNK_BYTE_0x"


@dataclass(frozen=True)
class Decoding:
    """What ids stand for, here and in llama.cpp."""

    metadata: Mapping[str, Any]
    ours: Tokenizer
    llama: LlamaVocab

    @cached_property
    def types(self) -> list[int]:
        types = self.metadata.get("tokenizer.ggml.token_type")
        return [1] * len(self.metadata["tokenizer.ggml.tokens"]) if types is None else [int(kind) for kind in types]

    def text(self, ids: Sequence[int], *, hide: bool) -> str:
        """llama.cpp's, with special tokens hidden or shown."""
        if self._kind in _DETOKENIZED:
            return self.llama.decode(list(ids), special=not hide)
        spaces = [int(self._strips), *[0] * len(ids)]
        pieces = (self.llama.piece(token, special=not hide, spaces=n) for token, n in zip(ids, spaces, strict=False))
        return b"".join(pieces).decode(errors="replace")

    def known_text(self, ids: Sequence[int], *, hide: bool) -> str:
        """llama.cpp's, but for what no decoder of `tokenizers` can do:

        - Of byte tokens in a row that are no UTF-8, each is a replacement character, also those of whole characters.
        - The space before a text is left out after a first token without text, hidden or unused: such a decoder does
          not know of it. So a text after a beginning-of-sequence token comes back as it was.
        - A token of byte-level BPE with a character that means no byte: llama.cpp shows an error message for each of
          its characters, here it is shown as it is.

        Nor can it tell a token with the name of a byte token and another type from a byte token; no file is known to
        have one.
        """
        parts, run = [], b""
        types = self.types
        for token in ids:
            piece = self.piece(token)
            if hide and piece and not self.llama.piece(token, special=False):
                continue
            if types[token] == BYTE:
                run += piece
            else:
                parts += [_replaced(run), piece]
                run = b""
        text = b"".join([*parts, _replaced(run)])
        return (text.removeprefix(b" ") if self._strips else text).decode(errors="replace")

    def piece(self, token: int, *, special: bool = True) -> bytes:
        """llama.cpp's, but for the third of these."""
        piece = self.llama.piece(token, special=special)
        return self.metadata["tokenizer.ggml.tokens"][token].encode() if piece.startswith(_NO_BYTES) else piece

    def differing(self, sequences: Sequence[Sequence[int]]) -> list[tuple[Sequence[int], bool]]:
        """Ids whose text differs, and whether special tokens were hidden."""
        found: list[tuple[Sequence[int], bool]] = []
        for hide in (False, True):
            texts = self.ours.decode_batch([list(ids) for ids in sequences], skip_special_tokens=hide)
            for ids, text in zip(sequences, texts, strict=True):
                if text != self.text(ids, hide=hide) and text != self.known_text(ids, hide=hide):
                    found.append((ids, hide))
        return found

    def differing_pieces(self) -> list[int]:
        """Tokens whose bytes, as `mobius run` prints them, are not llama.cpp's."""
        pieces = TokenBytes(self.ours)
        return [token for token in range(len(self.types)) if pieces.of(token) != self.piece(token)]

    def differing_streams(self, sequences: Iterable[Sequence[int]]) -> list[Sequence[int]]:
        """Ids that `mobius run` prints otherwise; nothing is printed of a character that the end cuts."""
        pieces = TokenBytes(self.ours)
        found = []
        for ids in sequences:
            wanted = b"".join(self.piece(token, special=False) for token in ids)
            text = (wanted.removeprefix(b" ") if self._strips else wanted).decode(errors="replace")
            stream = pieces.stream()
            printed = "".join(map(stream, ids))
            if text not in (printed + "\ufffd" * count for count in range(3)):
                found.append(ids)
        return found

    def random_ids(self, count: int, seed: int = 0) -> list[list[int]]:
        """Sequences that no text encodes to: tokens of all types as often, and as they come."""
        rng, types = random.Random(seed), self.types
        by_type = [[i for i, kind in enumerate(types) if kind == some] for some in sorted(set(types))]
        every = [range(len(types))]
        return [
            [rng.choice(rng.choice(rng.choice([by_type, every]))) for _ in range(rng.randint(1, 16))]
            for _ in range(count)
        ]

    @property
    def _kind(self) -> str:
        return str(self.metadata["tokenizer.ggml.model"])

    @property
    def _strips(self) -> bool:
        return bool(self.metadata.get("tokenizer.ggml.add_space_prefix", self._kind == "llama"))


def _replaced(run: bytes) -> bytes:
    try:
        run.decode()
    except UnicodeDecodeError:
        return "\ufffd".encode() * len(run)
    return run


@contextmanager
def both(metadata: Mapping[str, Any], folder: Path) -> Iterator[tuple[TokenizerFiles, Decoding]]:
    """The export of a vocabulary, and llama.cpp on a file of it."""
    files = export_tokenizer(metadata)
    assert files.tokenizer_json is not None
    as_bytes = {k: v.tobytes() if isinstance(v, np.ndarray) and v.itemsize == 1 else v for k, v in metadata.items()}
    llama = LlamaVocab(write_gguf(folder / "vocab.gguf", as_bytes))
    try:
        yield files, Decoding(metadata, Tokenizer.from_buffer(files.tokenizer_json), llama)
    finally:
        llama.close()


def compare(metadata: Mapping[str, Any], texts: Iterable[str], folder: Path) -> tuple[TokenizerFiles, list[str]]:
    """Export; the second result has the texts of which llama.cpp's ids, or the text that they stand for, differ."""
    differing = []
    with both(metadata, folder) as (files, decoding):
        ours, llama = decoding.ours, decoding.llama
        for text in texts:
            ids, around = ours.encode(text, add_special_tokens=False).ids, ours.encode(text).ids
            same = ids == llama.encode(text) and around == llama.encode(text, add_special=True)
            if not same or ours.decode(ids, skip_special_tokens=False) != decoding.text(ids, hide=False):
                differing.append(text)
        assert set(files.eos_token_ids) == llama.stops()
    return files, differing
