"""`mobius verify`: the proof. First the folder is compared with its file, then the tokenizers; then llama.cpp decodes,
ONNX Runtime scores the same tokens, and every step is judged. With `--text` both score a text instead, or as well.
"""

import os
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from converters.folder.manifest import Manifest, read_manifest
from converters.proof.difference import Findings
from converters.sources.gguf.file import GgufFile
from converters.tokenizer.stored import TOKENIZER
from mobius_cli.commands.verify.as_gguf import original_for_llama
from mobius_cli.commands.verify.by_transformers import ask_transformers, by_transformers_line, judge_by_transformers
from mobius_cli.commands.verify.experts import explain_choices
from mobius_cli.commands.verify.float16 import FLOATS, judged_floats, score_floats, wants_floats, with_float32
from mobius_cli.commands.verify.integrity import check_integrity
from mobius_cli.commands.verify.passes import judge_prompts
from mobius_cli.commands.verify.probe_texts import probe_texts
from mobius_cli.commands.verify.prompts import load_prompts
from mobius_cli.commands.verify.proof import conclude, prove_folder
from mobius_cli.commands.verify.report import print_report
from mobius_cli.commands.verify.text import ask_llama, judge_text, open_text
from mobius_cli.judging.float16_noise import float16_noise
from mobius_cli.judging.probes import Probe, differing, first_difference
from mobius_cli.judging.reference import PromptReference, Reference, Settings, read_reference
from mobius_cli.llama_cpp.server import LlamaServer, find_llama_server
from mobius_cli.options import wanted_target
from mobius_cli.output import BYTES, Output
from mobius_cli.runtime.text import TextCodec
from repack.errors import InputError, MobiusError

if TYPE_CHECKING:
    from mobius_cli.runtime.session import OnnxModel

CANDIDATES = 32  # log-probabilities that llama.cpp reports per step


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
    text: Path | None = None
    text_tokens: int = 256
    llama_server: str | None = None
    ep: str | None = None
    threads: int = 0
    weights_only: bool = False
    integrity: bool = False

    @property
    def asks_prompts(self) -> bool:
        """Whether prompts are decoded: given ones, or the default ones unless there is a text."""
        return self.text is None or bool(self.prompts) or self.prompt_file is not None


def verify_folder(request: Request, output: Output) -> bool:
    """Compare and print a row per prompt and for the text; returns whether nothing diverged.

    Raises:
        InputError: the folder, the GGUF file or the reference cannot be read.
        MobiusError: they do not belong together, or llama.cpp cannot run the file.
    """
    _check(request)
    if request.integrity:
        return check_integrity(request.folder, output)
    manifest, findings = read_manifest(request.folder), None
    if request.reference is not None:
        reference, codec = _saved_reference(request, manifest), TextCodec(request.folder)
    else:
        _check_asked(request, manifest)
        findings = prove_folder(
            request.folder, _the_file(request), manifest, output, weights_only=request.weights_only
        )  # fmt: skip
        if not (findings.differences or request.weights_only) and _the_file(request).is_dir():
            _ask_transformers(request, manifest, findings, output)
        if findings.differences or request.weights_only:
            return conclude(request.folder, findings, output)
        with ExitStack() as stack:
            try:
                original, server = _the_file(request), request.llama_server
                gguf = stack.enter_context(original_for_llama(original, manifest, server, output))
            except InputError:
                raise
            except MobiusError as error:
                findings.notes.append(f"llama.cpp was not asked: {error.message}")
                output.words(findings.notes[-1])
                return conclude(request.folder, findings, output)
            codec = TextCodec(request.folder)
            reference = _ask_llama(request, gguf, manifest, codec, output)
    if request.write_reference is not None:
        reference.write(request.write_reference)  # now, so that llama.cpp's work is kept whatever comes
    floats = wants_floats(manifest, reference, request.write_reference is not None)
    differences = differing(codec, reference.tokenized)
    model = _open(request)
    verdicts, ours = judge_prompts(model, reference.prompts, request.exact, output, keep=floats)
    score = None if reference.text is None else judge_text(model, reference.text, request.exact, output)
    del model  # before another session
    verdicts = explain_choices(request.folder, manifest, reference, verdicts, output, **_session(request))
    if floats and not judged_floats(manifest, request.ep, request.exact):
        ours = score_floats(request.folder, manifest, reference, request.ep, request.threads, output)
    if floats and request.write_reference is not None:
        with_float32(reference, ours).write(request.write_reference)
    noises = [float16_noise(p, side) for p, side in zip(reference.prompts, ours, strict=True)]
    print_report(request.folder, reference, differences, verdicts, noises, score, codec, output, findings)
    equal = not differences and (score is None or score.verdict != "diverged")
    return equal and all(v.kind != "diverged" for v in verdicts)


def _check(request: Request) -> None:
    """Refuse, before llama.cpp works for it, what cannot succeed at the end."""
    others = request.gguf or request.reference
    if request.integrity and (others or request.weights_only):
        raise InputError("--integrity needs nothing but the folder", "leave out the file and the other options")
    if request.weights_only and request.reference:
        raise InputError("--weights-only needs the file itself, not --reference", "give the file after the folder")
    if request.ep is not None:
        wanted_target(request.ep)
    path = request.write_reference
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        reason = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise InputError(f"{path}: cannot write it ({reason})", "give --write-reference the name of a file")


def _check_asked(request: Request, manifest: Manifest) -> None:
    """Refuse, before anything is compared or printed, what an engine could not be asked."""
    given = request.llama_server
    if request.weights_only or TOKENIZER not in manifest.files:
        return
    if given is not None and not given.startswith(("http://", "https://")):
        find_llama_server(given)
    elif given is not None and request.exact:
        raise InputError("--exact starts llama-server itself, on a float32 copy", "give the path of llama-server")
    codec, lengths = TextCodec(request.folder), []
    if request.text is not None:
        lengths = [len(open_text(request.text, request.text_tokens, manifest.target.context_length, codec).ids)]
    prompts = load_prompts(request.prompts, request.prompt_file) if request.asks_prompts else []
    lengths += [len(codec.encode(prompt)) + request.tokens for prompt in prompts]
    _check_lengths(lengths, manifest.target.context_length)


def _saved_reference(request: Request, manifest: Manifest) -> Reference:
    assert request.reference is not None
    if any((request.gguf, request.prompts, request.prompt_file, request.text, request.write_reference)):
        raise InputError(
            "--reference already holds the prompts or the text, and llama.cpp's answers",
            "leave out --gguf, --prompt, --prompt-file, --text and --write-reference",
        )
    reference = read_reference(request.reference)
    reference.require_model(manifest.source[0], request.reference)
    if reference.settings.exact != request.exact:
        kind = "an exact" if reference.settings.exact else "a quantized"
        raise InputError(f"{request.reference} is {kind} run of llama.cpp", "pass or leave out --exact accordingly")
    return reference


def _ask_transformers(request: Request, manifest: Manifest, findings: Findings, output: Output) -> None:
    """Compare a checkpoint's folder with transformers, and note what came of it, or why it could not be asked."""
    try:
        if TOKENIZER not in manifest.files:
            raise MobiusError("the model has no tokenizer, and prompts are texts")
        codec, texts = TextCodec(request.folder), load_prompts(request.prompts, request.prompt_file)
        prompts = [(text, codec.encode(text)) for text in texts]
        _check_lengths([len(ids) + request.tokens for _, ids in prompts], manifest.target.context_length)
        version, answers = ask_transformers(_the_file(request), manifest, prompts, request.tokens, output)
    except InputError:
        raise
    except MobiusError as error:
        findings.notes.append(f"transformers was not asked: {error.message}")
    else:
        verdicts = judge_by_transformers(request.folder, manifest, answers, request.ep, request.threads, output)
        for (text, _), verdict in zip(prompts, verdicts, strict=True):
            if verdict.kind == "diverged":
                findings.add("logits", repr(text[:31]), verdict.reason.replace("llama.cpp", "transformers"))
        findings.notes.append(by_transformers_line(version, verdicts))
    output.words(findings.notes[-1])


def _ask_llama(request: Request, gguf: Path, manifest: Manifest, codec: TextCodec, output: Output) -> Reference:
    """Run llama.cpp on a GGUF file (or on its float32 copy) over all prompts, the text, or both.

    Of a checkpoint the tokenizer is its own, so llama.cpp is not asked about it.
    """
    asks_tokenizer = gguf == request.gguf
    text = None
    if request.text is not None:
        text = open_text(request.text, request.text_tokens, manifest.target.context_length, codec)
    prompts = load_prompts(request.prompts, request.prompt_file) if request.asks_prompts else []
    ids = [codec.encode(prompt) for prompt in prompts]
    with GgufFile.open(gguf) as source, ExitStack() as stack:
        lengths = [len(prompt_ids) + request.tokens for prompt_ids in ids] + ([len(text.ids)] if text else [])
        _check_lengths(lengths, manifest.target.context_length)
        context = max(lengths) + 8
        server = stack.enter_context(_server(request, source, context, stack, output))
        if asks_tokenizer:
            for prompt, prompt_ids in zip(prompts, ids, strict=True):
                _check_ids(server, prompt, prompt_ids)
            if text is not None:
                _check_ids(server, text.content, text.all_ids)
        texts = probe_texts(codec) if asks_tokenizer else []
        probes = [Probe(probe, server.tokenize(probe)) for probe in texts]
        answers = []
        with output.progress("llama.cpp decodes", len(prompts), "prompts") as advance:
            for prompt, prompt_ids in zip(prompts, ids, strict=True):
                found = server.greedy(prompt_ids, request.tokens, CANDIDATES)
                answers.append(PromptReference(prompt, prompt_ids, found.tokens, found.top_ids, found.top_logprobs))
                advance(1, "")
        return Reference(
            model=manifest.source[0],
            build=server.build,
            settings=Settings(request.exact, "f32" if request.exact else "f16", _threads(request)),
            prompts=answers,
            probes=probes,
            as_gguf=not asks_tokenizer,
            text=None if text is None else ask_llama(server, text, output),
        )


def _the_file(request: Request) -> Path:
    if request.gguf is None:
        raise InputError(
            "verify needs the GGUF file", "give it after the folder, or pass --reference FILE of an earlier run"
        )
    return request.gguf


def _check_lengths(lengths: Sequence[int], context: int) -> None:
    if max(lengths) > context:
        raise InputError(
            f"a prompt with its answer needs {max(lengths)} tokens, the model was converted for {context}",
            "choose smaller -n or prompts, or convert with a larger --context-length",
        )


def _server(
    request: Request, source: GgufFile, context: int, stack: ExitStack, output: Output
) -> AbstractContextManager[LlamaServer]:
    """The user's running server, or one of our own; for --exact on a float32 copy of the file."""
    given = request.llama_server
    if given is not None and given.startswith(("http://", "https://")):
        return LlamaServer.attach(given)
    binary, model = find_llama_server(given), source.path
    if request.exact:
        from converters.sources.gguf.f32_copy import write_f32_copy

        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mobius-exact-")))
        model = folder / "f32.gguf"
        with output.progress("float32 copy of the GGUF", None, BYTES):
            write_f32_copy(source, model)
    return LlamaServer(binary, model, context=context, threads=_threads(request), exact=request.exact)


def _threads(request: Request) -> int:
    """Threads of llama.cpp: as asked, else one for each core this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return request.threads or cores


def _check_ids(server: LlamaServer, text: str, ours: list[int]) -> None:
    theirs = server.tokenize(text)
    at = first_difference(ours, theirs)
    if at is not None:
        sides = f"ours {ours[at : at + 4]}, llama.cpp {theirs[at : at + 4]}"
        raise MobiusError(
            f"the tokenizers differ on {text[:40]!r} at token {at}: {sides}",
            "the folder's tokenizer is wrong: report it with this text",
        )


def _open(request: Request) -> "OnnxModel":
    from mobius_cli.runtime.session import OnnxModel

    return OnnxModel(request.folder, **_session(request))


def _session(request: Request) -> dict[str, Any]:
    """How the folder is loaded."""
    level = FLOATS if request.exact else None
    return {"ep": request.ep, "threads": request.threads, "accuracy_level": level}
