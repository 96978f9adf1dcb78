"""The chat on a terminal: lines in, answers out, and what to do about interrupts."""

import contextlib
import re
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from mobius_cli.errors import INTERRUPTED, described
from mobius_cli.options import valid_text
from mobius_cli.output import Output
from mobius_cli.runtime.answer import Answer
from mobius_cli.runtime.conversation import Conversation
from repack.errors import MobiusError

PROMPT = ">>> "
COMMANDS = {
    "/clear": "forget what was said, but for the system message",
    "/exit": "end; as Ctrl-D",
    "/help": "this list; Ctrl-C stops an answer, and at the prompt ends the chat with exit code 130",
}
_COMMAND = re.compile(r"/[a-z?]*")  # alone on its line: a path or a fraction is a text


def chat(conversation: Conversation, title: str, limit: int | None, output: Output) -> int:
    """Answer line by line until the user ends it; returns the exit code."""
    with contextlib.suppress(ImportError):  # Windows has none
        import readline  # noqa: F401 - `input` edits lines with it, and remembers them
    output.note(title)
    output.note("/help lists the commands, Ctrl-C stops an answer, Ctrl-D ends")
    while True:
        try:
            line = valid_text(input(PROMPT))
        except EOFError:
            output.data()
            return 0
        except KeyboardInterrupt:
            output.data()
            return INTERRUPTED
        except (UnicodeDecodeError, MobiusError):
            output.note("that was not valid UTF-8")
            continue
        word = line.strip()
        if word == "/exit":
            return 0
        if _COMMAND.fullmatch(word):
            _command(word, conversation, output)
        elif word:
            _turn(line, conversation, limit, output)


def _command(word: str, conversation: Conversation, output: Output) -> None:
    if word == "/clear":
        conversation.clear()
        output.note("[a new conversation]")
    else:
        if word != "/help":
            output.note(f"there is no command {word}")
        for name, meaning in COMMANDS.items():
            output.note(f"  {name:8}{meaning}")


def _turn(line: str, conversation: Conversation, limit: int | None, output: Output) -> None:
    """One answer; what goes wrong with it ends neither the conversation nor the program."""
    with _stoppable() as stopped:
        try:
            answer = conversation.ask(line, lambda piece: output.data(piece, end=""), limit, stopped)
        except MobiusError as error:
            if stopped():  # the interrupt reached the template's process, too
                output.note("[stopped before the first word: what you said is forgotten]")
            else:
                described(error).say()
            return
    output.data()
    if (remark := _remark(answer)) is not None:
        output.note(remark)


def _remark(answer: Answer) -> str | None:
    """What the user should know of an answer that did not end by itself."""
    said = len(answer.tokens)
    match answer.end:
        case "the limit":
            return f"[cut off by the limit of {said} tokens (-n): for the next turn, this was all that was said]"
        case "the end of the context":
            full = len(answer.prompt_ids) + said
            return f"[cut off: the conversation fills all {full} tokens of the context; /clear begins a new one]"
        case "an interrupt" if said:
            return "[stopped: for the next turn, this was all that was said]"
        case "an interrupt":
            return "[stopped before the first word: what you said is forgotten]"
    return None


@contextlib.contextmanager
def _stoppable() -> Iterator[Callable[[], bool]]:
    """Within, Ctrl-C raises nothing: it is told by the function, so that no run of the model is left half done."""
    pressed = threading.Event()

    def press(number: int, frame: FrameType | None) -> None:
        pressed.set()

    before = signal.signal(signal.SIGINT, press)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)
