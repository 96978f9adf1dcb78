"""What a file of `tokenizer.ggml.model` = gpt2 is: byte-level BPE, but for some names in `tokenizer.ggml.pre`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from converters.tokenizer.algorithm import Kind
from converters.tokenizer.byte_level import BYTE_LEVEL
from converters.tokenizer.spaced_bpe import PLAIN_TEXT
from converters.tokenizer.vocabulary import KEY

_NO_BOS = ("chatglm-bpe", "glm4", "glm5")


def gpt2_kind(metadata: Mapping[str, Any]) -> Kind:
    """The kind by the name of the pre-tokenizer. An id that the file lacks is that of Falcon's `<|endoftext|>`."""
    pre = str(metadata.get(KEY + "pre"))
    ids = {"eos": 11} if pre in _NO_BOS else {"bos": 11, "eos": 11}
    return replace(BYTE_LEVEL, default_ids=ids, build=PLAIN_TEXT.get(pre, BYTE_LEVEL.build))
