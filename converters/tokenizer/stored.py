"""The tokenizer files of a model folder: written, and read back for a folder rewritten from it."""

import json
from pathlib import Path
from typing import Any

from converters.folder.writer import WRITTEN_TEMPLATES, write_json
from converters.tokenizer.export import TokenizerFiles

TOKENIZER, CONFIG, TEMPLATE = "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"
NAMED_TEMPLATES = WRITTEN_TEMPLATES
# What the folder's tokenizer_config.json has on top of the tokenizer's own keys.
ADDED = ("model_input_names", "model_max_length", "padding_side", "chat_template")


def write_tokenizer(folder: Path, tokens: TokenizerFiles, context_length: int, padding_side: str) -> None:
    """Write what the model has of a tokenizer and chat templates.

    Args:
        folder: where to.
        tokens: the files.
        context_length: tokens that the model was converted for.
        padding_side: "left" or "right", where its graph takes padding.
    """
    if tokens.tokenizer_json is not None and tokens.tokenizer_config is not None:
        (folder / TOKENIZER).write_bytes(tokens.tokenizer_json)
        # The template stands in its own file too: transformers.js knows none but this one, transformers reads that one.
        template = {} if tokens.chat_template is None else {"chat_template": tokens.chat_template}
        added = {
            "model_input_names": ["input_ids", "attention_mask"],
            "model_max_length": context_length,
            "padding_side": padding_side,
        }
        write_json(folder / CONFIG, {**tokens.tokenizer_config, **added, **template})
    if tokens.chat_template is not None:
        _write(folder / TEMPLATE, tokens.chat_template)
    for name, text in tokens.named_templates.items():
        (folder / NAMED_TEMPLATES).mkdir(exist_ok=True)
        _write(folder / NAMED_TEMPLATES / f"{name}.jinja", text)


def token_ids(tokens: TokenizerFiles) -> dict[str, Any]:
    """What the files themselves do not tell, for the manifest."""
    return {
        "bos_token_id": tokens.bos_token_id,
        "eos_token_ids": list(tokens.eos_token_ids),
        "pad_token_id": tokens.pad_token_id,
        "suppress_token_ids": list(tokens.suppress_token_ids),
        "add_bos": tokens.add_bos,
        "warnings": list(tokens.warnings),
    }


def stored_tokenizer(folder: Path, ids: dict[str, Any]) -> TokenizerFiles:
    """The files as they are, and `ids` as `token_ids` gave them."""
    whole, config = folder / TOKENIZER, _text(folder / CONFIG)
    return TokenizerFiles(
        tokenizer_json=whole.read_bytes() if whole.exists() else None,
        tokenizer_config=None if config is None else _without_added(json.loads(config)),
        chat_template=_text(folder / TEMPLATE),
        named_templates=named_templates(folder),
        bos_token_id=ids["bos_token_id"],
        eos_token_ids=tuple(ids["eos_token_ids"]),
        pad_token_id=ids["pad_token_id"],
        suppress_token_ids=tuple(ids.get("suppress_token_ids", ())),
        add_bos=ids["add_bos"],
        warnings=tuple(ids["warnings"]),
    )


def _without_added(config: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in ADDED}


def named_templates(folder: Path) -> dict[str, str]:
    """The chat templates of a folder that have a name."""
    return {path.stem: path.read_bytes().decode() for path in sorted((folder / NAMED_TEMPLATES).glob("*.jinja"))}


def _write(path: Path, text: str) -> None:
    """Line ends are kept."""
    path.write_bytes(text.encode())


def _text(path: Path) -> str | None:
    return path.read_bytes().decode() if path.exists() else None
