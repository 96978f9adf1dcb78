"""Options and help of `mobius tokenize`."""

from pathlib import Path
from typing import Annotated

import typer

HELP = """Print the token ids of a text, and the piece of text that each stands for.

With a folder, those of its tokenizer; with a GGUF file, those that its folder would give. Special tokens written in
the text are recognized, and the tokens that the model wants around a text are added, as `verify` and llama.cpp do.

--compare asks llama.cpp too (llama-server, on the GGUF file), and exits with 1 at a difference.
"""

Model = Annotated[
    Path, typer.Argument(help="A folder that `mobius convert` wrote, or a GGUF file.", show_default=False)
]
Text = Annotated[str, typer.Argument(help="The text; - reads it from stdin, as it is.", show_default=False)]
Plain = Annotated[bool, typer.Option("--plain", help="Without the tokens around the text, such as BOS.")]
Compare = Annotated[bool, typer.Option("--compare", help="Ask llama.cpp too.")]
Gguf = Annotated[
    Path | None, typer.Option("--gguf", help="The GGUF file of the folder, for --compare.", show_default=False)
]
LlamaServer = Annotated[
    str | None,
    typer.Option("--llama-server", help="Its path, or the URL of one that runs with this model.", show_default=False),
]
