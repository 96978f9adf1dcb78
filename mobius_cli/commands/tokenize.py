"""`mobius tokenize`: the ids of a text and their pieces, beside llama.cpp's if asked."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from converters.folder.manifest import read_manifest
from converters.sources.gguf.file import GgufFile
from mobius_cli.judging.probes import first_difference
from mobius_cli.llama_cpp.server import LlamaServer, find_llama_server
from mobius_cli.options import given_text
from mobius_cli.output import Output
from mobius_cli.runtime.text import TextCodec
from mobius_cli.runtime.token_bytes import TokenBytes
from repack.errors import InputError

CONTEXT = 256  # tokens; nothing is generated


@dataclass(frozen=True)
class Request:
    """What the user asked for; `special`: with the tokens around the text that the model wants."""

    model: Path
    text: str
    special: bool = True
    compare: bool = False
    gguf: Path | None = None
    llama_server: str | None = None


def tokenize_text(request: Request, output: Output) -> bool:
    """Print a row per token; returns whether llama.cpp, if asked, gives the same ids.

    Raises:
        InputError: the folder or the file cannot be read, it has no tokenizer, or the text is not valid UTF-8.
        MobiusError: the tokenizer is not supported, or llama.cpp cannot run the file.
    """
    text = given_text(request.text)
    codec, warnings = _open(request.model)
    for warning in warnings:
        output.warning(warning)
    ids = codec.encode(text, special=request.special)
    theirs = _ask_llama(request, text) if request.compare else None
    token_bytes = codec.token_bytes
    rows = [(str(i), str(token), repr(_readable(token_bytes.of(token)))) for i, token in enumerate(ids)]
    output.table(("", "id", "piece"), rows, right=(0, 1))
    at = None if theirs is None else first_difference(ids, theirs["ids"])
    if theirs is not None:
        verdict = "the same ids" if at is None else _difference(at, ids, theirs["ids"], token_bytes)
        output.data(f"llama.cpp {theirs['build']}: {verdict}")
    output.result(
        {
            "text": text,
            "ids": ids,
            "tokens": [{"id": token, "piece": _for_json(_readable(token_bytes.of(token)))} for token in ids],
            "llama_cpp": theirs and {**theirs, "same": at is None, "first_difference": at},
        }
    )
    return at is None


def _open(model: Path) -> tuple[TextCodec, tuple[str, ...]]:
    return (TextCodec(model), ()) if model.is_dir() else TextCodec.of_gguf(model)


def _ask_llama(request: Request, text: str) -> dict[str, Any]:
    """llama.cpp's ids, and its build."""
    given = request.llama_server
    if given is not None and given.startswith(("http://", "https://")):
        server = LlamaServer.attach(given)
    else:
        server = LlamaServer(find_llama_server(given), _gguf(request), context=CONTEXT)
    with server:
        return {"build": server.build, "ids": server.tokenize(text, add_special=request.special)}


def _gguf(request: Request) -> Path:
    """The file for llama.cpp; of a folder, the one that it was made from."""
    if not request.model.is_dir():
        return request.model
    if request.gguf is None:
        raise InputError("--compare needs the GGUF file of the folder", "pass --gguf FILE")
    with GgufFile.open(request.gguf) as file:
        read_manifest(request.model).require_source(file.shards)
    return request.gguf


def _difference(at: int, ours: list[int], theirs: list[int], token_bytes: TokenBytes) -> str:
    def side(ids: list[int]) -> str:
        return f"{ids[at]} {_readable(token_bytes.of(ids[at]))!r}" if at < len(ids) else "the end"

    return f"differs at token {at}: here {side(ours)}, there {side(theirs)}"


def _readable(piece: bytes) -> str | bytes:
    """A text, but for the bytes of a part of a character."""
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return piece


def _for_json(piece: str | bytes) -> str | list[int]:
    """As llama-server writes pieces."""
    return piece if isinstance(piece, str) else list(piece)
