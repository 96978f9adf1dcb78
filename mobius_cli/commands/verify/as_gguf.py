"""A Hugging Face folder as a GGUF file, for as long as `mobius verify` has llama.cpp decode it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from converters.sources.checkpoint.folder import CheckpointFolder
from converters.to_gguf.write import write_gguf
from mobius_cli.llama_cpp.server import find_llama_server
from mobius_cli.output import BYTES, Output
from repack.errors import MobiusError


@contextmanager
def original_for_llama(original: Path, server: str | None, output: Output) -> Iterator[Path]:
    """The file that llama.cpp runs: a GGUF file itself, or one of a Hugging Face folder's weights, bit for bit.

    Args:
        original: the file or the folder.
        server: the user's llama-server.
        output: where progress is shown.

    Raises:
        MobiusError: there is no such file, because a weight or the tokenizer has no place in it; or no llama-server.
    """
    if not original.is_dir():
        yield original
        return
    if server is not None and server.startswith(("http://", "https://")):
        raise MobiusError("a running llama-server has another file", "give the path of llama-server")
    find_llama_server(server)  # before a file is written for it
    with tempfile.TemporaryDirectory(prefix="mobius-gguf-") as folder, CheckpointFolder.open(original) as source:
        path = Path(folder) / "model.gguf"
        with output.progress("writing a GGUF file for llama.cpp", None, BYTES) as advance:
            made = write_gguf(source, path, None, lambda name, size: advance(size, name))
        if not made.has_tokenizer:
            raise MobiusError(made.warnings[0], "compare with `mobius run` by eye")
        yield path
