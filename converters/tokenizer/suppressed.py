"""Tokens that must never be generated: `tokenizer.ggml.suppress_tokens`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from converters.tokenizer.vocabulary import KEY
from repack.errors import InputError


def read_suppressed(metadata: Mapping[str, Any], tokens: list[str], warnings: list[str]) -> tuple[int, ...]:
    """Their ids, in order; ids out of range are left out, as in llama.cpp.

    Raises:
        InputError: they are not a list of integers.
    """
    values = metadata.get(KEY + "suppress_tokens")
    if values is None:
        return ()
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iu":
        raise InputError(f"{KEY}suppress_tokens is not a list of token ids")
    ids = tuple(sorted({int(i) for i in values if 0 <= i < len(tokens)}))
    if ids:
        warnings.append(
            f"{len(ids)} tokens must never be generated, for example {tokens[ids[0]]!r} (suppress_tokens of "
            "generation_config.json, which `mobius run` follows): onnxruntime-genai has no such setting"
        )
    return ids
