"""SentencePiece-style BPE as the vocabulary of a GGUF file: merges become scores, and what comes of them is tried."""

import json
from collections.abc import Mapping
from typing import Any

from converters.tokenizer.algorithm import SPACE
from converters.tokenizer.export import export_tokenizer
from converters.tokenizer.gguf_tokens import NotToldError, listed_tokens, merge_pairs
from converters.tokenizer.trial_texts import TEXTS
from converters.tokenizer.vocabulary import KEY, TokenType
from repack.errors import MobiusError

_NEVER = -1e6  # the score of what no merge makes


def sentencepiece_vocabulary(content: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """The keys of a whole text's BPE with byte fallback, in which `▁` is a space.

    Raises:
        NotToldError: a trial text gets other ids by them.
    """
    from tokenizers import Tokenizer

    model, vocab = content["model"], content["model"]["vocab"]
    found = {KEY + "model": "llama", **listed_tokens(content, rows)}
    scores = [_NEVER] * rows
    for rank, (left, right) in enumerate(merge_pairs(content)):
        made = vocab.get(left + right)
        if made is None:
            raise NotToldError("it merges to what is no token")
        scores[made] = max(scores[made], -float(rank))
    found |= {KEY + "scores": scores, KEY + "add_space_prefix": _adds_space(content)}
    unknown = vocab.get(model.get("unk_token"))
    if unknown is None:
        raise NotToldError("it has no unknown token")
    found[KEY + "unknown_token_id"] = unknown
    found[KEY + "token_type"][unknown] = int(TokenType.UNKNOWN)
    try:
        back = Tokenizer.from_str((export_tokenizer(found).tokenizer_json or b"").decode())
    except MobiusError as error:
        raise NotToldError(error.message) from None
    ours = Tokenizer.from_str(json.dumps(content))
    for text in TEXTS:
        if ours.encode(text, add_special_tokens=False).ids != back.encode(text, add_special_tokens=False).ids:
            raise NotToldError("llama.cpp would make other ids of some texts")
    return found


def _adds_space(content: Mapping[str, Any]) -> bool:
    """Whether a text begins with a space of its own: the trial tells if that is wrong."""
    said = json.dumps([content.get("normalizer"), content.get("pre_tokenizer")], ensure_ascii=False)
    return f'"prepend": "{SPACE}"' in said or '"prepend_scheme": "first"' in said or '"always"' in said
