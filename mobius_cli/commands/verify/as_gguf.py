"""A Hugging Face folder as a GGUF file, for as long as `mobius verify` has llama.cpp decode it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from converters.folder.manifest import Manifest
from converters.sources.checkpoint.folder import CheckpointFolder
from converters.to_gguf.write import write_gguf
from converters.tokenizer.stored import TOKENIZER
from mobius_cli.llama_cpp.server import find_llama_server
from mobius_cli.output import BYTES, Output
from repack.errors import MobiusError


@contextmanager
def original_for_llama(original: Path, manifest: Manifest, server: str | None, output: Output) -> Iterator[Path]:
    """The file that llama.cpp runs: a GGUF file itself, or one of a Hugging Face folder's weights, bit for bit.

    What no quantized type of GGUF holds is float32 in it. The vocabulary is none: llama.cpp is given ids.

    Args:
        original: the file or the folder.
        manifest: of the model folder.
        server: the user's llama-server.
        output: where progress is shown.

    Raises:
        MobiusError: the file cannot be written, such as for lack of space; or there is no llama-server.
    """
    if not original.is_dir():
        yield original
        return
    if TOKENIZER not in manifest.files:
        raise MobiusError("the model has no tokenizer, and prompts are texts")
    if server is not None and server.startswith(("http://", "https://")):
        raise MobiusError("a running llama-server has another file", "give the path of llama-server")
    find_llama_server(server)  # before a file is written for it
    with tempfile.TemporaryDirectory(prefix="mobius-gguf-") as folder, CheckpointFolder.open(original) as source:
        path = Path(folder) / "model.gguf"
        with output.progress("writing a GGUF file for llama.cpp", None, BYTES) as advance:
            write_gguf(source, path, "f32", lambda name, size: advance(size, name), for_ids=True)
        yield path
