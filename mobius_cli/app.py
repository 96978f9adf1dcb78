"""The command line: each command is a function here and a module of its own that is imported when it runs."""

import signal
from types import FrameType
from typing import Annotated, Any

import typer

from mobius_cli import options as opt
from mobius_cli.command_line import Command, Commands, example, typed_line
from mobius_cli.commands.bench import options as of_bench
from mobius_cli.commands.compare import options as of_compare
from mobius_cli.commands.convert import options as of_convert
from mobius_cli.commands.run import options as of_run
from mobius_cli.commands.verify import options as of_verify
from mobius_cli.errors import reported
from mobius_cli.hub import fetched
from mobius_cli.output import Output

app = typer.Typer(
    name="mobius",
    cls=Commands,
    help="GGUF models to ONNX: the same weights, about the same size, proved against llama.cpp.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from converters.version import tool_version

        typer.echo(f"mobius {tool_version()}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Turn GGUF models into ONNX folders, and prove them."""


@app.command(cls=Command, epilog=example("mobius inspect model.gguf --ep cpu"))
@reported
@fetched("model")
def inspect(
    model: opt.Inspected,
    tensors: Annotated[bool, typer.Option("--tensors", help="List every tensor.")] = False,
    ep: opt.Ep = None,
    dtype: opt.Dtype = None,
    storage: opt.Storage = None,
    dequantize: opt.Dequantize = False,
    quant_format: opt.QuantFormat = None,
    as_json: opt.Json = False,
) -> None:
    """Show what a GGUF file is, what each tensor becomes, and the size to expect; or what a converted folder is."""
    from mobius_cli.commands.inspect.inspect import Choices, inspect_model

    choices = Choices(ep, dtype, storage, dequantize, quant_format)
    if not inspect_model(model, choices, Output(as_json), every_tensor=tensors):
        raise typer.Exit(1)


@app.command(cls=Command, epilog=example("mobius convert model.gguf -o model --ep cpu"))
@reported
@fetched("model")
def convert(
    model: opt.Inputs,
    output: opt.NewFolder = None,
    ep: opt.Ep = None,
    dtype: opt.Dtype = None,
    storage: opt.Storage = None,
    accuracy_level: opt.AccuracyLevel = None,
    dequantize: opt.Dequantize = False,
    quant_format: opt.QuantFormat = None,
    keep_quantized: of_convert.KeepQuantized = False,
    context_length: opt.ContextLength = None,
    layout: of_convert.Layout = "flat",
    force: opt.Force = False,
    dry_run: of_convert.DryRun = False,
    to_gguf: of_convert.ToGguf = None,
    to_gguf_type: of_convert.ToGgufType = None,
    as_json: opt.Json = False,
) -> None:
    """Convert a GGUF file to an ONNX model folder that holds exactly the same weights.

    Of several files, or folders of them, each becomes NAME_onnx in the folder of -o.
    """
    from mobius_cli.commands.convert.convert import Request
    from mobius_cli.commands.convert.many import convert_all

    if to_gguf is not None or to_gguf_type is not None:
        from mobius_cli.commands.convert.to_gguf import to_gguf_file

        to_gguf_file(model, to_gguf, to_gguf_type, Output(as_json), force=force, others=(output, dry_run))
        return
    if dequantize and keep_quantized:
        raise typer.BadParameter("--dequantize and --keep-quantized contradict each other")
    target = opt.wanted_target(
        ep, dtype=dtype, storage=storage or "fast", accuracy_level=accuracy_level, dequantize=dequantize,
        quant_format=quant_format,
    )  # fmt: skip
    code = convert_all(model, output, Request(target, context_length, force, dry_run, layout=layout), Output(as_json))
    if code:
        raise typer.Exit(code)


@app.command(cls=Command, epilog=example("mobius build --gguf model.gguf --keep-quantized --output model"))
@reported
@opt.like(convert, model=of_convert.BuildGguf, output=of_convert.BuildFolder)
def build(**options: Any) -> None:
    """Same as `convert`, in the spelling of the other mobius."""
    convert(**{**options, "model": [options["model"]]})


@app.command(cls=Command, help=of_run.HELP, epilog=example("mobius run model 'What is the sea?'"))
@reported
def run(
    folder: opt.Folder,
    prompt: of_run.Prompt = None,
    prompt_option: of_run.PromptOption = None,
    tokens: of_run.Tokens = None,
    raw: of_run.Raw = False,
    system: of_run.System = None,
    template: of_run.ChatTemplate = None,
    template_var: of_run.TemplateVar = None,
    temp: of_run.Temp = None,
    top_k: of_run.TopK = None,
    top_p: of_run.TopP = None,
    min_p: of_run.MinP = None,
    seed: of_run.Seed = None,
    ep: opt.FolderEp = None,
    threads: opt.Threads = 0,
    as_json: opt.Json = False,
) -> None:
    """Generate text with a converted folder, as it comes; without a prompt, chat."""
    for option, value in (("--chat-template", template), ("--system", system)):
        if raw and value is not None:
            raise typer.BadParameter(f"--raw and {option} contradict each other")
    sampling = of_run.given_sampling(temperature=temp, top_k=top_k, top_p=top_p, min_p=min_p)
    variables = of_run.template_variables(template_var)
    text = of_run.the_prompt(prompt, prompt_option, as_json=as_json, raw=raw)
    from mobius_cli.commands.run.run import Request, run_folder

    request = Request(folder, text, tokens, raw, system, template, ep, threads, variables, sampling, seed)
    if code := run_folder(request, Output(as_json)):
        raise typer.Exit(code)


@app.command(cls=Command, epilog=example("mobius verify model model.gguf"))
@reported
@fetched("file", "gguf")
def verify(
    folder: opt.Folder,
    file: of_verify.File = None,
    gguf: of_verify.Gguf = None,
    reference: of_verify.Saved = None,
    write_reference: of_verify.WriteReference = None,
    exact: of_verify.Exact = False,
    weights_only: of_verify.WeightsOnly = False,
    integrity: of_verify.Integrity = False,
    prompt: of_verify.Prompts = None,
    prompt_file: of_verify.PromptFile = None,
    tokens: of_verify.Tokens = 64,
    text: of_verify.Text = None,
    text_tokens: of_verify.TextTokens = 256,
    llama_server: opt.LlamaServer = None,
    ep: opt.FolderEp = None,
    threads: opt.Threads = 0,
    verbose: of_verify.Verbose = False,
    quiet: of_verify.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Compare the folder with its file, bit for bit; then decode with llama.cpp: identical, near-tie or diverged."""
    from mobius_cli.commands.verify.verify import Request, verify_folder

    if verbose and quiet:
        raise typer.BadParameter("--verbose and --quiet contradict each other")
    request = Request(
        folder=folder, gguf=of_verify.the_file(file, gguf), reference=reference, write_reference=write_reference,
        exact=exact, prompts=prompt, prompt_file=prompt_file, tokens=tokens, text=text, text_tokens=text_tokens,
        llama_server=llama_server, ep=ep, threads=threads, weights_only=weights_only,
        integrity=integrity,
    )  # fmt: skip
    if not verify_folder(request, Output(as_json, quiet=quiet, verbose=verbose)):
        raise typer.Exit(1)


@app.command(cls=Command, help=of_bench.HELP, epilog=example("mobius bench model --gguf model.gguf -p 512 -n 128"))
@reported
@fetched("gguf")
def bench(
    context: typer.Context,
    folder: opt.Folder,
    gguf: of_bench.Gguf = None,
    prompt: of_bench.Prompts = "512",
    generate: of_bench.Generates = "128",
    depth: of_bench.Depths = "0",
    repeat: of_bench.Repeat = 5,
    output: of_bench.Form = None,
    llama_server: of_bench.LlamaServer = None,
    ep: opt.FolderEp = None,
    threads: of_bench.Threads = 2,
    as_json: opt.Json = False,
) -> None:
    """Measure prompt and generation speed, in llama-bench's columns, engines in alternation."""
    from mobius_cli.commands.bench.rows import all_tests
    from mobius_cli.reports.wanted import wanted_report

    tests = all_tests(opt.numbers(prompt), opt.numbers(generate), opt.numbers(depth))
    if not tests:
        raise typer.BadParameter("nothing to measure: give -p or -n")
    wanted = wanted_report(output or "md", of_bench.FORMS)
    if as_json and output is not None and wanted.path is None:
        raise typer.BadParameter(f"--json and -o {output} would both be on stdout: give -o a file")
    from mobius_cli.commands.bench.bench import Request, bench_folder

    request = Request(
        folder=folder, gguf=gguf, tests=tests, repeat=repeat, threads=threads, ep=ep, llama_server=llama_server,
        wanted=wanted, command=typed_line(context),
    )  # fmt: skip
    bench_folder(request, Output(as_json))


@app.command(cls=Command, help=of_compare.HELP, epilog=example("mobius compare a.json b.json -o page.html"))
@reported
def compare(
    files: of_compare.Files,
    output: of_compare.Form = None,
    as_json: opt.Json = False,
) -> None:
    """Compare results of `mobius bench`: a row for each test, a column for each file."""
    from mobius_cli.reports.wanted import wanted_report

    wanted = None if output is None else wanted_report(output, of_compare.FORMS)
    if as_json and wanted is not None and wanted.path is None:
        raise typer.BadParameter(f"--json and -o {output} would both be on stdout: give -o a file")
    from mobius_cli.commands.compare.compare import compare_files

    compare_files(files, wanted, Output(as_json))


@app.command(
    cls=Command,
    help=opt.TOKENIZE_HELP,
    epilog=example("mobius tokenize model 'Hello, world' --compare --gguf model.gguf"),
)
@reported
@fetched("model", "gguf")
def tokenize(
    model: opt.Tokenized,
    text: opt.Text,
    plain: opt.Plain = False,
    compare: opt.Compare = False,
    gguf: opt.ComparedGguf = None,
    llama_server: opt.ModelServer = None,
    as_json: opt.Json = False,
) -> None:
    """Print the token ids of a text, and the piece of text that each stands for."""
    from mobius_cli.commands.tokenize import Request, tokenize_text

    if not tokenize_text(Request(model, text, not plain, compare, gguf, llama_server), Output(as_json)):
        raise typer.Exit(1)


@app.command(cls=Command, name="list", epilog=example("mobius list targets"))
@reported
def list_(
    what: opt.Listed,
    as_json: opt.Json = False,
) -> None:
    """List what is supported: architectures, quantization types, targets."""
    from mobius_cli.commands.list import TABLES, list_table

    if what not in TABLES:
        raise typer.BadParameter(f"{what!r} is not one of: {', '.join(TABLES)}")
    list_table(what, Output(as_json))


def _terminate(number: int, frame: FrameType | None) -> None:
    """Leave through exception handlers, so that half-written folders are removed."""
    raise SystemExit(128 + number)


def main() -> None:
    """Entry point of the console script."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        app()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
