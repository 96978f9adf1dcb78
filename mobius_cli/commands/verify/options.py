"""Options of `mobius verify`."""

from pathlib import Path
from typing import Annotated

import typer

from mobius_cli.options import LLAMA_CPP

COMPARED, PRINTED = "What is compared", "What is printed"

File = Annotated[Path | None, typer.Argument(help="The GGUF file, or the Hugging Face folder.", show_default=False)]
Gguf = Annotated[
    Path | None,
    typer.Option("--gguf", help="The same file, as an option.", show_default=False, rich_help_panel=LLAMA_CPP),
]
Saved = Annotated[
    Path | None,
    typer.Option(
        "--reference", help="Compare with a saved run of llama.cpp.", show_default=False, rich_help_panel=LLAMA_CPP
    ),
]
WriteReference = Annotated[
    Path | None,
    typer.Option("--write-reference", help="Save llama.cpp's run.", show_default=False, rich_help_panel=LLAMA_CPP),
]
Exact = Annotated[
    bool,
    typer.Option(
        "--exact", help="Float activations on both sides; tokens must be identical.", rich_help_panel=LLAMA_CPP
    ),
]
WeightsOnly = Annotated[
    bool,
    typer.Option(
        "--weights-only", help="Compare the weights with the source's, bit for bit, and stop.", rich_help_panel=COMPARED
    ),
]
Integrity = Annotated[
    bool,
    typer.Option(
        "--integrity", help="Compare the folder's files with their hashes, and stop.", rich_help_panel=COMPARED
    ),
]
Prompts = Annotated[
    list[str] | None,
    typer.Option("--prompt", "-p", help="Instead of the default prompts; repeatable.", rich_help_panel=COMPARED),
]
PromptFile = Annotated[
    Path | None, typer.Option("--prompt-file", help="One prompt a line.", show_default=False, rich_help_panel=COMPARED)
]
Tokens = Annotated[int, typer.Option("-n", "--tokens", min=1, help="Tokens per prompt.", rich_help_panel=COMPARED)]
Text = Annotated[
    Path | None, typer.Option(help="Perplexity and KL over this text.", show_default=False, rich_help_panel=COMPARED)
]
TextTokens = Annotated[
    int, typer.Option("--text-tokens", min=16, help="The first so many tokens of it.", rich_help_panel=COMPARED)
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="More columns, and the margins of each near-tie.",
        show_default=False,
        rich_help_panel=PRINTED,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Only the last line: PASS or FAIL.", show_default=False, rich_help_panel=PRINTED
    ),
]


def the_file(given: Path | None, named: Path | None) -> Path | None:
    """The GGUF file, whichever way it was given.

    Raises:
        typer.BadParameter: both ways, and not the same.
    """
    if given is not None and named is not None and given != named:
        raise typer.BadParameter(f"two GGUF files: {given} and --gguf {named}")
    return given or named
