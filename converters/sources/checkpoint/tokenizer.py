"""The tokenizer of a checkpoint folder: its own files, unchanged."""

from pathlib import Path
from typing import Any

from converters.sources.checkpoint.files import CONFIG, read_json
from converters.tokenizer.export import TokenizerFiles
from converters.tokenizer.stored import CONFIG as TOKENIZER_CONFIG
from converters.tokenizer.stored import TEMPLATE, TOKENIZER, named_templates
from repack.errors import InputError

GENERATION = "generation_config.json"


def folder_tokenizer(folder: Path) -> TokenizerFiles:
    """The files, and the ids that the folder's configurations name; generation_config.json before config.json.

    Raises:
        InputError: tokenizer.json is none.
    """
    if not (folder / TOKENIZER).exists():
        return TokenizerFiles(warnings=(f"the folder has no {TOKENIZER}, nor gets the new one",))
    whole = (folder / TOKENIZER).read_bytes()
    config = read_json(folder / TOKENIZER_CONFIG)
    ids = {**read_json(folder / CONFIG), **read_json(folder / GENERATION)}
    bos, stops = ids.get("bos_token_id"), ids.get("eos_token_id")
    main, named = _templates(folder, config)
    return TokenizerFiles(
        tokenizer_json=whole,
        tokenizer_config={key: value for key, value in config.items() if key != "chat_template"},
        chat_template=main,
        named_templates=named,
        bos_token_id=bos,
        eos_token_ids=tuple(stops) if isinstance(stops, list) else () if stops is None else (stops,),
        pad_token_id=ids.get("pad_token_id"),
        suppress_token_ids=tuple(ids.get("suppress_tokens") or ()),
        add_bos=bos is not None and _first_token(whole, folder) == bos,
    )


def _templates(folder: Path, config: dict[str, Any]) -> tuple[str | None, dict[str, str]]:
    """The main one and those with names; files of their own before those in tokenizer_config.json."""
    given = config.get("chat_template")
    listed = {one["name"]: one["template"] for one in given} if isinstance(given, list) else {}
    main = listed.pop("default", None) if isinstance(given, list) else given
    if (folder / TEMPLATE).exists():
        main = (folder / TEMPLATE).read_bytes().decode()
    return main, {**listed, **named_templates(folder)}


def _first_token(tokenizer_json: bytes, folder: Path) -> int | None:
    """What stands before every text."""
    from tokenizers import Tokenizer

    try:
        ids: list[int] = Tokenizer.from_str(tokenizer_json.decode()).encode("").ids
    except Exception as error:  # whatever the library finds wrong
        raise InputError(f"{folder / TOKENIZER}: cannot be read: {error}", "download it again") from None
    return ids[0] if ids else None
