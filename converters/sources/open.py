"""A model from a path, whatever it is."""

from pathlib import Path

from converters.folder.manifest import MANIFEST
from converters.sources.checkpoint.files import is_checkpoint
from converters.sources.checkpoint.folder import CheckpointFolder
from converters.sources.gguf.file import GgufFile
from converters.sources.onnx_folder.folder import OnnxFolder
from converters.sources.source import Source


def open_source(path: Path) -> Source:
    """Open a file or a folder; close it, or use it as a context manager.

    Raises:
        MobiusError: it is neither, is damaged, or is a folder that cannot be rewritten.
    """
    if is_checkpoint(path) and not (path / MANIFEST).exists():
        return CheckpointFolder.open(path)
    return OnnxFolder.open(path) if path.is_dir() else GgufFile.open(path)
