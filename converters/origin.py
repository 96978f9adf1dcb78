"""Where a model comes from: what a file and a folder made from it answer alike."""

from dataclasses import replace

from converters.folder.source_file import SourceFile
from converters.plan import Plan
from converters.sources.onnx_folder.folder import ModelFolder
from converters.sources.source import Source
from converters.tokenizer.export import TokenizerFiles, export_tokenizer
from converters.tokenizer.stored import stored_tokenizer


def origins(source: Source) -> tuple[SourceFile, ...]:
    """Name, hash and size of each GGUF file; a folder remembers them."""
    return source.origins if isinstance(source, ModelFolder) else tuple(SourceFile.of(path) for path in source.shards)


def tokenizer_of(source: Source) -> TokenizerFiles:
    """The tokenizer, made from the metadata or taken from the folder.

    Raises:
        MobiusError: it cannot be kept.
    """
    if isinstance(source, ModelFolder):
        return stored_tokenizer(source.folder, source.token_ids)
    return export_tokenizer(source.metadata)


def recall_roundings(plan: Plan) -> None:
    """Report what float32 rounded when a folder was first written: its numbers do not tell any more."""
    if not isinstance(plan.source, ModelFolder):
        return
    for name, record in plan.weights.records.items():
        for kind, stored in plan.source.records[name].roundings.items():
            if stored.rounded and kind in record.roundings:
                record.roundings[kind] = replace(stored, count=record.roundings[kind].count)
