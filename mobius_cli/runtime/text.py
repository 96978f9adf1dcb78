"""Text to token ids and back, from a model folder's own files or from a GGUF file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from converters.folder.manifest import read_manifest
from converters.tokenizer.chat import render_chat
from converters.tokenizer.export import TokenizerFiles
from converters.tokenizer.probe import Message
from converters.tokenizer.stored import stored_tokenizer
from mobius_cli.runtime.token_bytes import TokenBytes
from repack.errors import InputError


class TextCodec:
    """A tokenizer and its chat template.

    Attributes:
        chat_template: the template's text, or None.
        token_bytes: the bytes of each token.
        stream: a new function that turns tokens into text one by one, holding back incomplete characters.
        show: one token for a person: its text in quotes.
    """

    def __init__(self, folder: Path) -> None:
        """Read the folder's tokenizer files.

        Raises:
            InputError: one of them is missing or damaged, or the model has no tokenizer.
        """
        manifest = read_manifest(folder)
        try:
            files = stored_tokenizer(folder, manifest.tokenizer.as_dict())
            self._load(files, folder)
        except InputError:
            raise
        except Exception as error:  # tokenizers raises plain Exception
            raise InputError(f"{folder}: the tokenizer cannot be read: {error}", "convert the model again") from error

    @classmethod
    def of_gguf(cls, path: Path) -> tuple[Self, tuple[str, ...]]:
        """The codec that the folder of a converted file would have, and the warnings of the conversion.

        Raises:
            InputError: the file is missing or damaged, or has no tokenizer.
            MobiusError: its tokenizer is not supported.
        """
        from converters.sources.gguf.file import GgufFile
        from converters.tokenizer import export_tokenizer

        with GgufFile.open(path) as source:
            files = export_tokenizer(source.metadata)
        codec = cls.__new__(cls)
        codec._load(files, path)
        return codec, files.warnings

    def _load(self, files: TokenizerFiles, where: Path) -> None:
        from tokenizers import Tokenizer

        if files.tokenizer_json is None:
            raise InputError(f"{where} has no tokenizer: its model takes ids, not text",
                             "without text there is `mobius bench`")  # fmt: skip
        self._tokenizer = Tokenizer.from_buffer(files.tokenizer_json)
        self._config = files.tokenizer_config or {}
        self.chat_template, self._named = files.chat_template, files.named_templates
        self.token_bytes = TokenBytes(self._tokenizer)
        self.stream, self.show = self.token_bytes.stream, self.token_bytes.show

    def encode(self, text: str, *, special: bool = True) -> list[int]:
        """Ids of plain text, with the tokens around it that the model wants if `special`; as llama.cpp."""
        return list(self._tokenizer.encode(text, add_special_tokens=special).ids)

    def use_template(self, name: str) -> None:
        """Take the chat template of this name from now on.

        Raises:
            InputError: the folder has none of this name.
        """
        if name not in self._named:
            known = ", ".join(self._named) or "it has none by name"
            raise InputError(f"the folder has no chat template named {name!r}", f"choose one of: {known}")
        self.chat_template = self._named[name]

    @property
    def special_texts(self) -> list[str]:
        """The tokens that are found in a text before anything else, in the order of their ids."""
        return [token.content for _, token in sorted(self._tokenizer.get_added_tokens_decoder().items())]

    def render_chat(self, prompt: str, system: str | None = None, variables: Mapping[str, Any] | None = None) -> str:
        """One user turn in the chat template, which must be there and may want `variables`."""
        return self._render(first_messages(prompt, system), variables)

    def encode_chat(self, messages: Sequence[Message], variables: Mapping[str, Any] | None = None) -> list[int]:
        """Ids of a conversation in the chat template; what goes around every text is there once, as in llama.cpp."""
        text = self._render(messages, variables)
        if self._config.get("add_bos_token"):
            text = text.removeprefix(self._config.get("bos_token", ""))
        if self._config.get("add_eos_token"):
            text = text.removesuffix(self._config.get("eos_token", ""))
        return self.encode(text)

    def _render(self, messages: Sequence[Message], variables: Mapping[str, Any] | None) -> str:
        assert self.chat_template is not None
        bos, eos = self._config.get("bos_token", ""), self._config.get("eos_token", "")
        return render_chat(self.chat_template, messages, bos_token=bos, eos_token=eos, variables=variables)


def first_messages(prompt: str, system: str | None) -> list[Message]:
    """How a conversation begins."""
    messages = [{"role": "system", "content": system}] if system is not None else []
    return [*messages, {"role": "user", "content": prompt}]
