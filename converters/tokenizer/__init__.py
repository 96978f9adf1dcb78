"""Tokenizer files from GGUF metadata, with the ids that llama.cpp gives."""

from converters.tokenizer.export import TokenizerFiles, export_tokenizer

__all__ = ["TokenizerFiles", "export_tokenizer"]
