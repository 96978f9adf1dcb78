"""The chat templates of a GGUF file: the main one and others by name."""

import re
from collections.abc import Mapping
from typing import Any

from converters.tokenizer.genai_losses import genai_losses
from converters.tokenizer.genai_template import genai_template_warning, without_block_trimming
from repack.errors import InputError

KEY = "tokenizer.chat_template"
_FILE_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)


def read_templates(metadata: Mapping[str, Any], warnings: list[str]) -> tuple[str | None, dict[str, str]]:
    """The main template, or None, and those with a name, such as "tool_use".

    Raises:
        InputError: one of them is not a text.
        MobiusError: the main one is endless.
    """
    found = {key: metadata[key] for key in metadata if key == KEY or key.startswith(f"{KEY}.")}
    for key, value in found.items():
        if not isinstance(value, str):
            raise InputError(f"{key} is not a text")
    main = found.pop(KEY, None)
    named = {key[len(KEY) + 1 :]: text for key, text in sorted(found.items())}
    if main is None and named:
        warnings.append(f"the file has chat templates by name only ({', '.join(map(repr, named))}), and no main one")
    for name in [name for name in named if not _FILE_NAME.fullmatch(name)]:
        warnings.append(f"the chat template named {name!r} is left out: that is no name for a file")
        del named[name]
    if main is None:
        return None, named
    warnings.extend(genai_losses(main))
    if (warning := genai_template_warning(main)) is not None:
        warnings.append(warning)
    return without_block_trimming(main), named
