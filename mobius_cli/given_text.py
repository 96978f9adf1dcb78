"""A text argument of a command: the text itself, or - for standard input."""

import sys

from repack.errors import InputError


def given_text(argument: str) -> str:
    """The text, as it is.

    Raises:
        InputError: it is not valid UTF-8.
    """
    try:
        text = sys.stdin.buffer.read().decode() if argument == "-" else argument
        text.encode()  # arguments that are not valid have lone surrogates
    except UnicodeError as error:
        place = f" at byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
        raise InputError(f"the text is not valid UTF-8{place}", "give it as UTF-8") from None
    return text
