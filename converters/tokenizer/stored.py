"""The tokenizer files of a model folder, for a folder rewritten from it."""

import json
from pathlib import Path
from typing import Any

from converters.tokenizer.export import TokenizerFiles


def token_ids(tokens: TokenizerFiles) -> dict[str, Any]:
    """What the files themselves do not tell, for the manifest."""
    return {
        "bos_token_id": tokens.bos_token_id,
        "eos_token_ids": list(tokens.eos_token_ids),
        "pad_token_id": tokens.pad_token_id,
        "add_bos": tokens.add_bos,
        "warnings": list(tokens.warnings),
    }


def stored_tokenizer(folder: Path, ids: dict[str, Any]) -> TokenizerFiles:
    """The files as they are, and `ids` as `token_ids` gave them."""
    config = _text(folder / "tokenizer_config.json")
    return TokenizerFiles(
        tokenizer_json=_text(folder / "tokenizer.json"),
        tokenizer_config=None if config is None else json.loads(config),
        chat_template=_text(folder / "chat_template.jinja"),
        bos_token_id=ids["bos_token_id"],
        eos_token_ids=tuple(ids["eos_token_ids"]),
        pad_token_id=ids["pad_token_id"],
        add_bos=ids["add_bos"],
        warnings=tuple(ids["warnings"]),
    )


def _text(path: Path) -> str | None:
    """Line ends are kept."""
    return path.read_bytes().decode("utf-8") if path.exists() else None
