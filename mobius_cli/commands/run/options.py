"""Options of `mobius run`, and what they say together."""

import sys
from typing import Annotated

import typer

from mobius_cli.options import given_text

SAMPLING = "How tokens are drawn"
HELP = """Generate text with a converted folder, as it comes; without a prompt, chat.

A prompt that is piped in is read from stdin. The chat keeps what was said: Ctrl-C stops an answer, /help lists the
commands, Ctrl-D ends it.

Tokens are drawn as the GGUF file wishes (general.sampling.*), else the most likely one is taken. With one of --top-k,
--top-p and --min-p, and no temperature from either, it is 1.
"""
_FILES = "the file's, or {}"

Prompt = Annotated[
    str | None, typer.Argument(help="What to say; - reads it from stdin. None: a chat.", show_default=False)
]
PromptOption = Annotated[str | None, typer.Option("--prompt", "-p", help="The same, as an option.", show_default=False)]
Tokens = Annotated[
    int | None,
    typer.Option(
        "-n", "--tokens", min=1, help="Most tokens of an answer.", show_default="128; in a chat, as many as fit"
    ),
]
Temp = Annotated[
    float | None,
    typer.Option(
        "--temp",
        help="Temperature; 0 takes the most likely token.",
        show_default=_FILES.format(0),
        rich_help_panel=SAMPLING,
    ),
]
TopK = Annotated[
    int | None,
    typer.Option(
        "--top-k",
        help="Draw from so many most likely tokens; 0: from all.",
        show_default=_FILES.format(0),
        rich_help_panel=SAMPLING,
    ),
]
TopP = Annotated[
    float | None,
    typer.Option(
        "--top-p",
        help="Draw from the most likely tokens of this probability together.",
        show_default=_FILES.format(1),
        rich_help_panel=SAMPLING,
    ),
]
MinP = Annotated[
    float | None,
    typer.Option(
        "--min-p",
        help="Draw from tokens with this part of the best one's probability.",
        show_default=_FILES.format(0),
        rich_help_panel=SAMPLING,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        min=0, help="The same seed draws the same tokens.", show_default="another each time", rich_help_panel=SAMPLING
    ),
]


def the_prompt(argument: str | None, option: str | None, *, as_json: bool, raw: bool) -> str | None:
    """What to say, without the newline that ends what is piped in; None for a chat on a terminal.

    Raises:
        typer.BadParameter: a prompt in two ways, or none where there can be no chat.
        InputError: the prompt is not valid UTF-8.
    """
    if argument is not None and option is not None:
        raise typer.BadParameter("the prompt is given twice: as an argument, and with -p")
    given = argument if argument is not None else option
    if given is not None and given != "-":
        return given_text(given)
    if given == "-" or (sys.stdin is not None and not sys.stdin.isatty()):
        text = given_text("-").removesuffix("\n")
        if given is None and not text.strip():
            raise typer.BadParameter("there is no prompt: stdin has none, and none is given")
        return text
    if as_json:
        raise typer.BadParameter("--json answers one prompt: give one")
    if raw:
        raise typer.BadParameter("--raw continues a text: give one as the prompt")
    if sys.stdin is None or not sys.stdout.isatty():
        raise typer.BadParameter("there is no prompt, and a chat needs a terminal: give one")
    return None


def given_sampling(**options: float | None) -> dict[str, float]:
    """What is given of `runtime.sampling.Sampling`, by its names.

    Raises:
        typer.BadParameter: a value that none of them can have.
    """
    from converters.folder.sampling import wrong_value

    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        if (wanted := wrong_value(name, value)) is not None:
            option = "temp" if name == "temperature" else name.replace("_", "-")
            raise typer.BadParameter(f"--{option} {value:g}: it must be {wanted}")
    return given
