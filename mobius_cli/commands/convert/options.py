"""Options of `mobius convert` and `mobius build` alone."""

from pathlib import Path
from typing import Annotated

import typer

from mobius_cli.options import TARGET


def _layouts() -> list[str]:
    from converters.folder.layout import LAYOUTS

    return list(LAYOUTS)


DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan, as `mobius inspect` does; write nothing.")]
KeepQuantized = Annotated[
    bool, typer.Option("--keep-quantized", help="Keep weights quantized: the default.", rich_help_panel=TARGET)
]
Layout = Annotated[
    str,
    typer.Option(
        help="flat: all files side by side. hub: the graph as onnx/model.onnx, where transformers.js looks for it.",
        rich_help_panel=TARGET,
        autocompletion=_layouts,
    ),
]

ToGguf = Annotated[
    Path | None,
    typer.Option("--to-gguf", help="Of a Hugging Face folder, write a GGUF file instead.", show_default=False),
]
ToGgufType = Annotated[
    str | None,
    typer.Option(
        "--to-gguf-type",
        help="What quantized tensors become that no type of GGUF holds: q8_0, q4_1, f16, bf16 or f32.",
        show_default=False,
    ),
]

# `mobius build`: what `convert` takes without a name
BuildGguf = Annotated[Path, typer.Option("--gguf", help="A GGUF file; any part of a split one.", show_default=False)]
BuildFolder = Annotated[Path, typer.Option("--output", "-o", help="Folder to write.", show_default=False)]
