"""The ids of special tokens, in the words that all configurations share."""

from typing import Any

from converters.tokenizer.export import TokenizerFiles


def token_ids(tokens: TokenizerFiles) -> dict[str, Any]:
    """The ids that there are; padding is what ends a text where the model has no token for it."""
    stops = list(tokens.eos_token_ids)
    found = {
        "bos_token_id": tokens.bos_token_id,
        "eos_token_id": stops[0] if len(stops) == 1 else stops or None,
        "pad_token_id": tokens.pad_token_id if tokens.pad_token_id is not None else (stops[0] if stops else None),
    }
    return {key: value for key, value in found.items() if value is not None}
