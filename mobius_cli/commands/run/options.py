"""Options of `mobius run`, and what they say together."""

import sys
from typing import Annotated, Any

import typer

from mobius_cli.options import given_text

CHAT, SAMPLING = "Chat", "How tokens are drawn"
HELP = """Generate text with a converted folder, as it comes; without a prompt, chat.

A prompt that is piped in is read from stdin, without its last newline. The chat keeps what was said: Ctrl-C stops an
answer, /help lists the commands, Ctrl-D ends it.

Tokens are drawn as the GGUF file wishes (general.sampling.*), else the most likely one is taken. With one of --top-k,
--top-p and --min-p but no temperature, that is 1.
"""
_FILES = "the file's, or {}"

Prompt = Annotated[
    str | None, typer.Argument(help="What to say; - reads it from stdin. Without one, chat.", show_default=False)
]
PromptOption = Annotated[str | None, typer.Option("--prompt", "-p", help="The same, as an option.", show_default=False)]
Tokens = Annotated[
    int | None,
    typer.Option(
        "-n", "--tokens", min=1, help="Most tokens of an answer.", show_default="128; in a chat, as many as fit"
    ),
]
Raw = Annotated[bool, typer.Option("--raw", help="Do not apply the chat template.", rich_help_panel=CHAT)]
System = Annotated[
    str | None, typer.Option("--system", help="System message.", show_default=False, rich_help_panel=CHAT)
]
ChatTemplate = Annotated[
    str | None,
    typer.Option(
        "--chat-template",
        help="Name of another chat template of the file.",
        show_default="the main one",
        rich_help_panel=CHAT,
    ),
]
TemplateVar = Annotated[
    list[str] | None,
    typer.Option(
        "--template-var",
        metavar="NAME=VALUE",
        help="A variable of the chat template; JSON, or else a text.",
        rich_help_panel=CHAT,
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


def template_variables(given: list[str] | None) -> dict[str, Any]:
    """Variables for a chat template, each as NAME=VALUE; a value that is no JSON is a text.

    Raises:
        typer.BadParameter: anything else.
    """
    import json

    def refused(constant: str) -> float:
        raise ValueError(constant)  # NaN and the like are no JSON

    found: dict[str, Any] = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier() or name == "messages":
            raise typer.BadParameter(f"{text!r}: NAME=VALUE is wanted, such as enable_thinking=false")
        try:
            found[name] = json.loads(value, parse_constant=refused)
        except (ValueError, RecursionError):
            found[name] = value
    return found
