"""Small vocabularies as metadata and as GGUF files, and the comparison of our export with llama.cpp."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from tokenizers import Tokenizer

from converters.tokenizer import TokenizerFiles, export_tokenizer
from tests.support.llama_vocab import LlamaVocab
from tests.support.tiny import add_value

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def write_gguf(path: Path, metadata: Mapping[str, Any]) -> Path:
    """A file with this metadata and no tensors, which is enough to load a vocabulary."""
    writer = gguf.GGUFWriter(path, "llama")
    for key, value in metadata.items():
        add_value(writer, key, value.tolist() if isinstance(value, np.ndarray) else value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def assert_same_as_llama(metadata: Mapping[str, Any], texts: Iterable[str], folder: Path) -> TokenizerFiles:
    """Export, and compare ids (without and with special tokens around) and stop ids with llama.cpp's."""
    files = export_tokenizer(metadata)
    ours = Tokenizer.from_buffer(files.tokenizer_json)
    llama = LlamaVocab(write_gguf(folder / "vocab.gguf", metadata))
    try:
        for text in texts:
            assert ours.encode(text, add_special_tokens=False).ids == llama.encode(text), repr(text)
            assert ours.encode(text).ids == llama.encode(text, add_special=True), repr(text)
        assert set(files.eos_token_ids) == llama.stops()
        assert files.add_bos == llama.add_bos
    finally:
        llama.close()
    return files


def byte_characters() -> list[str]:
    """The character that byte-level BPE writes for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def byte_level(
    *, merges: Sequence[tuple[str, str]] = (("a", "b"),), special: Mapping[str, int] | None = None, **keys: Any
) -> dict[str, Any]:
    """Metadata of a byte-level BPE: 256 bytes, what the merges make of them, and special tokens by type."""
    tokens = [*dict.fromkeys([*byte_characters(), *(left + right for left, right in merges)])]
    special = {"<|endoftext|>": CONTROL} if special is None else special
    types = [NORMAL] * len(tokens) + list(special.values())
    tokens += special
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": np.array(types, np.int32),
        "tokenizer.ggml.merges": [f"{left} {right}" for left, right in merges],
        "tokenizer.ggml.bos_token_id": tokens.index(next(iter(special))),
        "tokenizer.ggml.eos_token_id": tokens.index(next(iter(special))),
        **{f"tokenizer.ggml.{key}": value for key, value in keys.items()},
    }


def sentencepiece(
    pieces: Mapping[str, float], *, special: Mapping[str, int] | None = None, **keys: Any
) -> dict[str, Any]:
    """Metadata of a SentencePiece-style BPE in Llama's order: three control tokens, 256 bytes, pieces."""
    special = {"<unk>": UNKNOWN, "<s>": CONTROL, "</s>": CONTROL} if special is None else special
    tokens = [*special, *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    types = [*special.values(), *[BYTE] * 256, *[NORMAL] * len(pieces)]
    scores = [0.0] * (len(special) + 256) + list(pieces.values())
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": np.array(scores, np.float32),
        "tokenizer.ggml.token_type": np.array(types, np.int32),
        **{f"tokenizer.ggml.{key}": value for key, value in keys.items()},
    }
