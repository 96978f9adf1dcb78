"""The one family of exceptions a person may see: what, where, and what to do."""


class MobiusError(Exception):
    """A refusal: the input is readable, but converting or running it as asked would be wrong.

    `message` says what and where; `hint` says what to do. Both are one line.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(MobiusError):
    """The file or folder given is missing, damaged, or not what it should be (exit code 2, as for usage)."""

    exit_code = 2
