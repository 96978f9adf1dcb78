"""Options and help of `mobius bench`, most of them spelled as llama-bench spells them."""

from pathlib import Path
from typing import Annotated

import typer

from mobius_cli.options import ENGINE, LLAMA_CPP

TESTS = "Tests"
FORMS = ("md", "csv", "json", "jsonl", "html", "svg")

HELP = """Measure prompt and generation speed, in llama-bench's columns, beside llama.cpp if its file is given.

A test is timed until its logits are on the host. Not counted: loading, tokenization, sampling, filling the cache to a
depth and, on a GPU, capturing the CUDA graph.

Each test runs once to warm up and then -r times, engines in alternation, the same number of threads forced on both.
No sample is dropped as an outlier: what is printed is mean and standard deviation of all of them, and a test of which
the deviation exceeds 10 % of the mean is flagged.

llama.cpp is llama-bench, if one is on the PATH or beside --llama-server: a process per sample, with its own warm-up.
Else it is llama-server with its own timings, in which its sampling counts, and which do not tell the speed of a prompt
at a depth. For a GPU target it is asked to put all layers on the GPU, for a CPU target none.

Activations are rounded to 8 bits on CPUs, by both engines, unless the folder was converted with --accuracy-level 0 or
holds float weights; on GPUs they stay float.

ttft is the time to first token: from the prompt's tokens to the logits of its last one. Peak memory is that of this
whole process, without llama.cpp's; memory on the device is what nvidia-smi says after each test. Load time depends on
whether the files are in the system's cache.
"""

Gguf = Annotated[
    Path | None,
    typer.Option("--gguf", help="The GGUF file: llama.cpp runs beside.", show_default=False, rich_help_panel=LLAMA_CPP),
]
Prompts = Annotated[str, typer.Option("-p", "--n-prompt", help="Prompt lengths, by comma.", rich_help_panel=TESTS)]
Generates = Annotated[
    str, typer.Option("-n", "--n-gen", help="Numbers of tokens to generate, by comma.", rich_help_panel=TESTS)
]
Depths = Annotated[
    str, typer.Option("-d", "--n-depth", help="Tokens in the cache before a test, by comma.", rich_help_panel=TESTS)
]
Repeat = Annotated[
    int, typer.Option("-r", "--repetitions", min=1, help="Samples per test, after a warm-up.", rich_help_panel=TESTS)
]
Form = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FORM|FILE",
        help="md, csv, json (an array, as llama-bench's), jsonl, svg, or html (a page that stands alone) on stdout; "
        "or a file with such a suffix, which is replaced.",
        show_default="md",
        autocompletion=lambda: list(FORMS),
    ),
]
LlamaServer = Annotated[
    str | None,
    typer.Option(
        "--llama-server",
        help="Its path; a llama-bench in the same folder is preferred.",
        show_default=False,
        rich_help_panel=LLAMA_CPP,
    ),
]
Threads = Annotated[
    int, typer.Option("--threads", "-t", min=1, help="Threads of both engines.", rich_help_panel=ENGINE)
]
