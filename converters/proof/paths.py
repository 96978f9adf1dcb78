"""Where two values out of JSON differ first."""

import json
from typing import Any

_SHOWN = 60  # characters of a value


def first_path(stored: Any, wanted: Any, path: str = "") -> str | None:
    """A sentence such as "model.eos_token_id is 3 instead of 2"; None where they are equal, type for type."""
    if isinstance(stored, dict) and isinstance(wanted, dict):
        for key in [*wanted, *(key for key in stored if key not in wanted)]:
            inner = f"{path}.{key}" if path else key
            if key not in stored or key not in wanted:
                return f"{inner} is {'missing' if key in wanted else 'too much'}"
            if found := first_path(stored[key], wanted[key], inner):
                return found
        return None
    if isinstance(stored, list) and isinstance(wanted, list):
        for index, (one, other) in enumerate(zip(stored, wanted, strict=False)):
            if found := first_path(one, other, f"{path}[{index}]"):
                return found
        many = f"{path} has {len(stored)} entries instead of {len(wanted)}"
        return many if len(stored) != len(wanted) else None
    if json.dumps(stored) == json.dumps(wanted):
        return None
    return f"{path or 'it'} is {_shown(stored)} instead of {_shown(wanted)}"


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
