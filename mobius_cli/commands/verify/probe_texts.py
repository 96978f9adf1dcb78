"""Texts on which tokenizers differ: what `mobius verify` has llama.cpp tokenize, too."""

from converters.tokenizer.trial_texts import TEXTS
from mobius_cli.runtime.text import TextCodec
from repack.errors import MobiusError

MOST_SPECIAL = 64  # special tokens that are tried inside a text


def probe_texts(codec: TextCodec) -> list[str]:
    """The trial texts; special tokens of the model, evenly picked, each inside a text; a turn of its chat."""
    special = codec.special_texts
    picked = special[:: -(-len(special) // MOST_SPECIAL)] if special else []
    return [*TEXTS, *(f"a {text} b{text}" for text in picked), *_chat(codec)]


def _chat(codec: TextCodec) -> list[str]:
    if codec.chat_template is None:
        return []
    try:
        return [codec.render_chat("Hello, 1 2 3!")]
    except MobiusError:  # a template that wants other messages
        return []
