"""Options that several commands share, spelled once, those of small commands, and how some values are read."""

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from converters.target import Target

# Groups of options on the help pages
TARGET, ENGINE, LLAMA_CPP = "What is written", "Where it runs", "llama.cpp"


def _providers() -> list[str]:
    """For completion in a shell, as those below: the names stand where they are checked."""
    from converters.target import TARGETS

    return list(TARGETS)


def _dtypes() -> list[str]:
    from converters.target import DTYPE_ALIASES

    return list(DTYPE_ALIASES)


def _storages() -> list[str]:
    from converters.target import STORAGES

    return list(STORAGES)


def _quant_formats() -> list[str]:
    from converters.target import FORMATS

    return list(FORMATS)


def _tables() -> list[str]:
    from mobius_cli.commands.list import TABLES

    return list(TABLES)


Inspected = Annotated[
    Path,
    typer.Argument(
        help="A GGUF file, any part of a split one, or hf://OWNER/REPO/FILE; or a folder that `mobius convert` wrote.",
        show_default=False,
    ),
]
Inputs = Annotated[
    list[Path],
    typer.Argument(
        help="A GGUF file or hf://OWNER/REPO/FILE, or a folder that mobius wrote; several, or a folder of files.",
        show_default=False,
    ),
]
Folder = Annotated[Path, typer.Argument(help="A folder that `mobius convert` wrote.", show_default=False)]
NewFolder = Annotated[Path | None, typer.Option("--output", "-o", help="Folder to write.", show_default="NAME_onnx")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a model folder of which mobius wrote every file.")]
Ep = Annotated[
    str | None,
    typer.Option(
        "--ep",
        "--execution-provider",
        help="Execution provider: its fused operators instead of standard ones (see `mobius list targets`).",
        show_default="any runtime",
        rich_help_panel=TARGET,
        autocompletion=_providers,
    ),
]
FolderEp = Annotated[
    str | None,
    typer.Option(
        "--ep",
        "--execution-provider",
        help="Execution provider.",
        show_default="the folder's",
        rich_help_panel=ENGINE,
        autocompletion=_providers,
    ),
]
Dtype = Annotated[
    str | None,
    typer.Option(
        help="Activation type: float32 (f32), float16 (f16) or, for cuda, bfloat16 (bf16).",
        show_default="the target's",
        rich_help_panel=TARGET,
        autocompletion=_dtypes,
    ),
]
Storage = Annotated[
    str | None,
    typer.Option(
        help="fast: the operators' inputs, quick to load. small: as the GGUF stores them, unfolded at load.",
        show_default="fast",
        rich_help_panel=TARGET,
        autocompletion=_storages,
    ),
]
AccuracyLevel = Annotated[
    int | None,
    typer.Option(
        help="With --ep: 4 quantizes activations to int8 (fast); 0 keeps them float"
        " (4-bit types 2-3 times slower, 8-bit types up to 100 times).",
        show_default="4",
        rich_help_panel=TARGET,
    ),
]
QuantFormat = Annotated[
    str | None,
    typer.Option(
        help="How quantized matrices stand: matmulnbits (with --ep), or qdq, behind DequantizeLinear.",
        show_default="matmulnbits with --ep, else qdq",
        rich_help_panel=TARGET,
        autocompletion=_quant_formats,
    ),
]
Dequantize = Annotated[
    bool, typer.Option("--dequantize", help="Write a float model instead of a quantized one.", rich_help_panel=TARGET)
]
ContextLength = Annotated[
    int | None,
    typer.Option(
        help="Longest context; cache and tables are allocated for it.",
        show_default="up to 8192",
        rich_help_panel=TARGET,
    ),
]
LlamaServer = Annotated[
    str | None,
    typer.Option(
        "--llama-server", help="Its path, or the URL of a running one.", show_default=False, rich_help_panel=LLAMA_CPP
    ),
]
Threads = Annotated[
    int, typer.Option("--threads", "-t", min=0, help="Threads; 0 lets the engine choose.", rich_help_panel=ENGINE)
]

# `mobius list`
Listed = Annotated[str, typer.Argument(help="archs, quants or targets.", show_default=False, autocompletion=_tables)]

# `mobius tokenize`
TOKENIZE_HELP = """Print the token ids of a text, and the piece of text that each stands for.

With a folder, those of its tokenizer; with a GGUF file, those that its folder would give. Special tokens written in
the text are recognized, and the tokens that the model wants around a text are added, as `verify` and llama.cpp do.

--compare asks llama.cpp too (llama-server, on the GGUF file), and exits with 1 at a difference.
"""
Tokenized = Annotated[
    Path, typer.Argument(help="A folder that `mobius convert` wrote, or a GGUF file.", show_default=False)
]
Text = Annotated[str, typer.Argument(help="The text; - reads it from stdin, as it is.", show_default=False)]
Plain = Annotated[bool, typer.Option("--plain", help="Without the tokens around the text, such as BOS.")]
Compare = Annotated[bool, typer.Option("--compare", help="Ask llama.cpp too.", rich_help_panel=LLAMA_CPP)]
ComparedGguf = Annotated[
    Path | None,
    typer.Option(
        "--gguf", help="The GGUF file of the folder, for --compare.", show_default=False, rich_help_panel=LLAMA_CPP
    ),
]
ModelServer = Annotated[
    str | None,
    typer.Option(
        "--llama-server",
        help="Its path, or the URL of one that runs with this model.",
        show_default=False,
        rich_help_panel=LLAMA_CPP,
    ),
]

Command = Callable[..., None]


def like(command: Command, **changed: Any) -> Callable[[Command], Command]:
    """Give a function of `**options` the parameters of another command.

    Args:
        command: the other command.
        changed: annotations of parameters that are spelled otherwise here; these must be given by the user.
    """
    given = inspect.signature(command)
    parameters = [
        p.replace(annotation=changed[p.name], default=p.empty) if p.name in changed else p
        for p in given.parameters.values()
    ]

    def decorated(function: Command) -> Command:
        function.__signature__ = given.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return decorated


def wanted_target(ep: str | None, **choices: Any) -> "Target":
    """As `converters.target.choose_target`: what it refuses here was said by the user's options, not by a model.

    Raises:
        InputError: a name that is not known, or options that contradict each other.
    """
    from converters.target import choose_target
    from repack.errors import InputError, MobiusError

    try:
        return choose_target(ep, **choices)
    except MobiusError as error:
        raise InputError(error.message, error.hint) from None


def numbers(text: str) -> list[int]:
    """Whole numbers separated by commas.

    Raises:
        typer.BadParameter: anything else.
    """
    try:
        found = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = [-1]
    if any(n < 0 for n in found):
        raise typer.BadParameter(f"{text!r}: whole numbers separated by commas are wanted")
    return found


def given_text(argument: str) -> str:
    """A text argument as it is: the text itself, or - for standard input.

    Raises:
        InputError: it is not valid UTF-8.
    """
    return valid_text(sys.stdin.buffer.read() if argument == "-" else argument)


def valid_text(given: str | bytes) -> str:
    """A text as it was typed or read.

    Raises:
        InputError: it is not valid UTF-8.
    """
    from repack.errors import InputError

    try:
        text = given.decode() if isinstance(given, bytes) else given
        text.encode()  # what was typed and is not valid has lone surrogates
    except UnicodeError as error:
        place = f" at byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
        raise InputError(f"the text is not valid UTF-8{place}", "give it as UTF-8") from None
    return text
