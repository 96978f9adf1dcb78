"""`mobius verify`: the proof. llama.cpp decodes, ONNX Runtime scores the same tokens, every step is judged."""

import os
import tempfile
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from converters.package import read_manifest, sha256_of
from converters.sources.gguf_file import GgufFile
from mobius_cli.output import Output
from mobius_cli.runtime.compare import Verdict, compare, compare_exact
from mobius_cli.runtime.llama_server import LlamaServer, find_llama_server
from mobius_cli.runtime.prompts import load_prompts
from mobius_cli.runtime.reference import ModelFile, PromptReference, Reference, Settings, read_reference
from mobius_cli.runtime.text import TextCodec
from repack.errors import InputError, MobiusError

CANDIDATES = 32  # log-probabilities that llama.cpp reports per step
NOISE_FREE = 0  # accuracy level of MatMulNBits for --exact: float activations


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    folder: Path
    gguf: Path | None = None
    reference: Path | None = None
    write_reference: Path | None = None
    exact: bool = False
    prompts: list[str] | None = None
    prompt_file: Path | None = None
    tokens: int = 64
    llama_server: str | None = None
    ep: str | None = None
    threads: int = 0


def verify_folder(request: Request, output: Output) -> bool:
    """Compare and print a row per prompt; returns whether nothing diverged.

    Raises:
        InputError: the folder, the GGUF file or the reference cannot be read.
        MobiusError: they do not belong together, or llama.cpp cannot run the file.
    """
    manifest = read_manifest(request.folder)
    codec = TextCodec(request.folder)
    if request.reference is not None:
        reference = _saved_reference(request, manifest)
    else:
        reference = _ask_llama(request, manifest, codec, output)
    if request.write_reference is not None:
        reference.write(request.write_reference)
    verdicts = _judge(request, reference, output)
    _print(reference, verdicts, codec, output, request)
    return all(v.kind != "diverged" for v in verdicts)


def _saved_reference(request: Request, manifest: dict[str, Any]) -> Reference:
    assert request.reference is not None
    if request.gguf is not None or request.prompts or request.prompt_file or request.write_reference:
        raise InputError(
            "--reference already holds the prompts and llama.cpp's answers",
            "leave out --gguf, --prompt, --prompt-file and --write-reference",
        )
    reference = read_reference(request.reference)
    reference.require_model(manifest["source"][0]["sha256"])
    if reference.settings.exact != request.exact:
        kind = "an exact" if reference.settings.exact else "a quantized"
        raise InputError(f"{request.reference} is {kind} run of llama.cpp", "pass or leave out --exact accordingly")
    return reference


def _ask_llama(request: Request, manifest: dict[str, Any], codec: TextCodec, output: Output) -> Reference:
    """Run llama.cpp on the GGUF file (or on its float32 copy) over all prompts."""
    if request.gguf is None:
        raise InputError("verify needs the GGUF file", "pass --gguf FILE, or --reference FILE of an earlier run")
    prompts = load_prompts(request.prompts, request.prompt_file)
    ids = [codec.encode(text) for text in prompts]
    with GgufFile.open(request.gguf) as source, ExitStack() as stack:
        _check_source(source, manifest)
        context = max(map(len, ids)) + request.tokens + 8
        server = stack.enter_context(_server(request, source, context, stack, output))
        answers = []
        with output.progress("llama.cpp", len(prompts)) as advance:
            for text, prompt_ids in zip(prompts, ids, strict=True):
                _check_ids(server, text, prompt_ids)
                found = server.greedy(prompt_ids, request.tokens, CANDIDATES)
                answers.append(PromptReference(text, prompt_ids, found.tokens, found.top_ids, found.top_logprobs))
                advance(1, "")
        first = manifest["source"][0]
        return Reference(
            model=ModelFile(first["file"], first["sha256"], first["bytes"]),
            build=server.build,
            settings=Settings(request.exact, "f32" if request.exact else "f16", _threads(request)),
            prompts=answers,
        )


def _check_source(source: GgufFile, manifest: dict[str, Any]) -> None:
    for path, known in zip(source.shards, manifest["source"], strict=False):
        if sha256_of(path) != known["sha256"]:
            raise MobiusError(
                f"{path} is not the file that was converted ({known['file']}, SHA-256 {known['sha256'][:12]}...)",
                "give that file, or convert this one",
            )


def _server(
    request: Request, source: GgufFile, context: int, stack: ExitStack, output: Output
) -> AbstractContextManager[LlamaServer]:
    """The user's running server, or one of our own; for --exact on a float32 copy of the file."""
    given = request.llama_server
    if given is not None and given.startswith(("http://", "https://")):
        if request.exact:
            raise InputError("--exact starts llama-server itself, on a float32 copy", "give the path of llama-server")
        return LlamaServer.attach(given)
    binary, model = find_llama_server(given), source.path
    if request.exact:
        from converters.sources.f32_copy import write_f32_copy

        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mobius-exact-")))
        model = folder / "f32.gguf"
        with output.progress("float32 copy", 1) as advance:
            write_f32_copy(source, model)
            advance(1, "")
    return LlamaServer(binary, model, context=context, threads=_threads(request), exact=request.exact)


def _threads(request: Request) -> int:
    """Threads of llama.cpp: as asked, else one for each core this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return request.threads or cores


def _check_ids(server: LlamaServer, text: str, ours: list[int]) -> None:
    theirs = server.tokenize(text)
    if theirs != ours:
        at = next(
            (i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs))
        )
        sides = f"ours {ours[at : at + 4]}, llama.cpp {theirs[at : at + 4]}"
        raise MobiusError(
            f"the tokenizers differ on {text[:40]!r} at token {at}: {sides}",
            "the folder's tokenizer is wrong: report it with this text",
        )


def _judge(request: Request, reference: Reference, output: Output) -> list[Verdict]:
    """One teacher-forced pass per prompt: row i scores token i of llama.cpp's answer."""
    from mobius_cli.runtime.session import OnnxModel

    level = NOISE_FREE if request.exact else None
    model = OnnxModel(request.folder, ep=request.ep, threads=request.threads, accuracy_level=level)
    judge = compare_exact if request.exact else compare
    verdicts = []
    with output.progress("ONNX Runtime", len(reference.prompts)) as advance:
        for p in reference.prompts:
            logits = model.logits([*p.prompt_ids, *p.tokens[:-1]], first=len(p.prompt_ids) - 1)
            verdicts.append(judge(p.tokens, p.top_ids, p.top_logprobs, logits))
            advance(1, "")
    return verdicts


def _print(reference: Reference, verdicts: list[Verdict], codec: TextCodec, output: Output, request: Request) -> None:
    columns = ("prompt", "tokens", "verdict", "same argmax", "noise", "max diff", "mean KL")
    rows = []
    for p, v in zip(reference.prompts, verdicts, strict=True):
        shown = p.text if len(p.text) <= 32 else p.text[:31] + "…"
        at = f" at token {v.first_difference}" if v.first_difference is not None else ""
        rows.append(
            (shown, str(v.steps), v.kind + at, f"{v.agreement:.1%}", _number(v.noise), _number(v.max_abs_logprob_diff),
             _number(v.mean_kl))
        )  # fmt: skip
    output.table(columns, rows, right=(1, 3, 4, 5, 6))
    for p, v in zip(reference.prompts, verdicts, strict=True):
        for line in _explain(v, codec):
            output.data(f"{p.text[:31]!r}: {line}")
    counts = {kind: sum(v.kind == kind for v in verdicts) for kind in ("identical", "near-tie", "diverged")}
    kind = "float32 copy" if reference.settings.exact else "same file"
    output.data(
        f"llama.cpp {reference.build} on the {kind}: "
        + ", ".join(f"{n} {name}" for name, n in counts.items() if n)
        + f" of {len(verdicts)} prompts, {sum(v.steps for v in verdicts)} tokens"
    )
    output.result(
        {
            "folder": str(request.folder), "llama_cpp": reference.build, "exact": reference.settings.exact,
            "verdict": next(k for k in ("diverged", "near-tie", "identical") if counts[k]), **counts,
            "prompts": [
                {"text": p.text, **asdict(v)} for p, v in zip(reference.prompts, verdicts, strict=True)
            ],
        }
    )  # fmt: skip


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _explain(verdict: Verdict, codec: TextCodec) -> list[str]:
    """Why a prompt diverged, or the margins of its ties."""
    if verdict.reason:
        return [verdict.reason]
    return [
        f"near-tie at token {d.step}: {codec.show(d.our_token)} instead of {codec.show(d.their_token)},"
        f" margins {_number(d.their_margin)} (llama.cpp) and {_number(d.our_margin)} (ours), noise limit {d.limit:.3g}"
        for d in verdict.differences
    ]
