"""Text to token ids and back, from a model folder's own files."""

import json
from collections.abc import Callable
from pathlib import Path

from converters.tokenizer.chat import render_chat
from repack.errors import InputError


class TextCodec:
    """The folder's tokenizer and chat template.

    Attributes:
        chat_template: the template's text, or None.
    """

    def __init__(self, folder: Path) -> None:
        """Read the folder's tokenizer files.

        Raises:
            InputError: one of them is missing or damaged.
        """
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        except Exception as error:  # tokenizers raises plain Exception
            raise InputError(f"{folder}: the tokenizer cannot be read: {error}", "convert the model again") from error
        template = folder / "chat_template.jinja"
        self.chat_template = template.read_text(encoding="utf-8") if template.is_file() else None

    def encode(self, text: str) -> list[int]:
        """Ids of plain text, with a beginning-of-sequence token where the model wants one; as llama.cpp."""
        return list(self._tokenizer.encode(text, add_special_tokens=True).ids)

    def encode_chat(self, prompt: str, system: str | None = None) -> list[int]:
        """Ids of one user turn in the chat template; exactly one beginning-of-sequence token."""
        assert self.chat_template is not None
        messages = [{"role": "system", "content": system}] if system is not None else []
        messages.append({"role": "user", "content": prompt})
        bos, eos = self._config.get("bos_token", ""), self._config.get("eos_token", "")
        text = render_chat(self.chat_template, messages, bos_token=bos, eos_token=eos)
        wanted = bool(self._config.get("add_bos_token"))
        twice = wanted and bos != "" and text.startswith(bos)
        return list(self._tokenizer.encode(text, add_special_tokens=wanted and not twice).ids)

    def show(self, token: int) -> str:
        """One token for a person: its text in quotes."""
        return repr(self._tokenizer.decode([token], skip_special_tokens=False))

    def stream(self) -> Callable[[int], str]:
        """A function that turns tokens into text one by one, holding back incomplete characters."""
        from tokenizers.decoders import DecodeStream

        decoder = DecodeStream(skip_special_tokens=True)
        return lambda token: decoder.step(self._tokenizer, token) or ""
