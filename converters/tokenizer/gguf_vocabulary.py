"""A tokenizer.json as the vocabulary of a GGUF file: byte-level BPE that cuts texts in a way for which llama.cpp has a
name, and SentencePiece-style BPE.
"""

import json
from collections.abc import Mapping
from typing import Any

from converters.tokenizer.export import NO_TOKENIZER, TokenizerFiles
from converters.tokenizer.gguf_sentencepiece import sentencepiece_vocabulary
from converters.tokenizer.gguf_tokens import NotToldError, listed_tokens, merge_pairs
from converters.tokenizer.pretokenizers import PRE_TOKENIZERS, PreTokenizer
from converters.tokenizer.trial_texts import TEXTS
from converters.tokenizer.vocabulary import KEY

_NFC = {"type": "NFC"}


def tokenizer_metadata(tokens: TokenizerFiles, rows: int) -> tuple[dict[str, Any], list[str]]:
    """The keys of a vocabulary with as many tokens as the embedding has `rows`, and warnings.

    Where it cannot be told, the keys say that there is none, and a warning why.
    """
    try:
        if tokens.tokenizer_json is None:
            raise NotToldError("the checkpoint has none")
        content = json.loads(tokens.tokenizer_json)
        warnings: list[str] = []
        if content["model"].get("type") == "BPE" and content["model"].get("byte_fallback"):
            found = sentencepiece_vocabulary(content, rows)
        else:
            found = _byte_level(content, rows, warnings)
    except NotToldError as reason:
        return {KEY + "model": NO_TOKENIZER[1]}, [
            f"the file gets no tokenizer ({reason}): llama-server is of no use with it, programs that take ids are"
        ]
    roles = {"bos": tokens.bos_token_id, "padding": tokens.pad_token_id}
    roles["eos"] = tokens.eos_token_ids[0] if tokens.eos_token_ids else None
    found |= {f"{KEY}{role}_token_id": number for role, number in roles.items() if number is not None}
    found[KEY + "add_bos_token"] = tokens.add_bos
    if tokens.chat_template is not None:
        found["tokenizer.chat_template"] = tokens.chat_template
    return found, warnings


def _byte_level(content: Mapping[str, Any], rows: int, warnings: list[str]) -> dict[str, Any]:
    pre = _pre_tokenizer(content, warnings)
    merges = [" ".join(pair) for pair in merge_pairs(content)]
    return {KEY + "model": "gpt2", KEY + "pre": pre, **listed_tokens(content, rows), KEY + "merges": merges}


def _pre_tokenizer(content: Mapping[str, Any], warnings: list[str]) -> str:
    """llama.cpp's name of the one that cuts all trial texts as the checkpoint's does."""
    from tokenizers import Tokenizer

    model, normalizer = content["model"], content.get("normalizer")
    if model.get("type") != "BPE" or "ByteLevel" not in json.dumps(content.get("decoder")):
        raise NotToldError("it is no BPE on bytes, nor one that falls back to them")
    if normalizer == _NFC:
        warnings.append("llama.cpp does not compose characters (NFC), as the checkpoint's tokenizer does")
    elif normalizer is not None:
        raise NotToldError("it normalizes texts")
    ours = Tokenizer.from_str(json.dumps(content)).pre_tokenizer
    if ours is None:
        raise NotToldError("it does not cut texts")
    cut = [ours.pre_tokenize_str(text) for text in TEXTS]
    for entry in PRE_TOKENIZERS:
        if entry.whole_words == bool(model.get("ignore_merges")) and _cuts(entry) == cut:
            return entry.names[0]
    raise NotToldError("it cuts texts as nothing in llama.cpp does")


def _cuts(entry: PreTokenizer) -> list[Any]:
    from tokenizers import Regex, pre_tokenizers

    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in entry.patterns]
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    whole = pre_tokenizers.Sequence([*splits, level])
    return [whole.pre_tokenize_str(text) for text in TEXTS]
