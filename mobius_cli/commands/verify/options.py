"""Options of `mobius verify`."""

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[Path | None, typer.Argument(help="The GGUF file, for llama.cpp.", show_default=False)]
Gguf = Annotated[Path | None, typer.Option("--gguf", help="The same.", show_default=False)]
Saved = Annotated[
    Path | None, typer.Option("--reference", help="Compare with a saved run of llama.cpp.", show_default=False)
]
WriteReference = Annotated[
    Path | None, typer.Option("--write-reference", help="Save llama.cpp's run.", show_default=False)
]
Exact = Annotated[bool, typer.Option("--exact", help="Float activations on both sides; tokens must be identical.")]
Prompts = Annotated[
    list[str] | None, typer.Option("--prompt", "-p", help="Instead of the default prompts; repeatable.")
]
PromptFile = Annotated[Path | None, typer.Option("--prompt-file", help="One prompt a line.", show_default=False)]
Tokens = Annotated[int, typer.Option("-n", "--tokens", min=1, help="Tokens per prompt.")]
Text = Annotated[Path | None, typer.Option(help="Perplexity and KL over this text.", show_default=False)]
TextTokens = Annotated[int, typer.Option("--text-tokens", min=16, help="The first so many tokens of it.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="More columns, and the margins of each near-tie.", show_default=False)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the last line: PASS or FAIL.", show_default=False)]


def the_file(given: Path | None, named: Path | None) -> Path | None:
    """The GGUF file, whichever way it was given.

    Raises:
        typer.BadParameter: both ways, and not the same.
    """
    if given is not None and named is not None and given != named:
        raise typer.BadParameter(f"two GGUF files: {given} and --gguf {named}")
    return given or named
