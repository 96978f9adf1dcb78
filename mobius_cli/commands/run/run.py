"""`mobius run`: one answer, or a chat."""

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from converters.folder.sampling import file_sampling
from mobius_cli.output import Output
from mobius_cli.runtime.answer import speak
from mobius_cli.runtime.sampling import Sampling, picker
from mobius_cli.runtime.session import OnnxModel
from mobius_cli.runtime.text import TextCodec, first_messages
from repack.errors import InputError, MobiusError

TOKENS = 128  # of one answer


@dataclass(frozen=True)
class Request:
    """What the user asked for.

    Attributes:
        prompt: None for a chat.
        tokens: the most of an answer; None leaves it to us.
        raw: without a chat template.
        template: the name of another one than the main one.
        variables: for the chat template, on top of those that it always gets.
        sampling: what is given of `Sampling`; the file fills in the others.
    """

    folder: Path
    prompt: str | None
    tokens: int | None = None
    raw: bool = False
    system: str | None = None
    template: str | None = None
    ep: str | None = None
    threads: int = 0
    variables: Mapping[str, Any] = field(default_factory=dict)
    sampling: Mapping[str, float] = field(default_factory=dict)
    seed: int | None = None


def run_folder(request: Request, output: Output) -> int:
    """Answer the prompt, streaming to stdout, or chat; returns the exit code.

    Raises:
        MobiusError: the prompt does not fit, or there is no chat template that the request needs.
    """
    codec = _codec(request)
    ids = [] if request.prompt is None else _prompt_ids(request, request.prompt, codec)
    if request.prompt is not None and not ids:
        raise InputError("the prompt is empty", "say something")
    model = OnnxModel(request.folder, ep=request.ep, threads=request.threads, last_logits=True)
    sampling = chosen_sampling(request.sampling, model.manifest.metadata, output)
    seed = None if sampling.greedy else secrets.randbits(32) if request.seed is None else request.seed
    drawn = "" if seed is None else f"{sampling}, seed {seed}"
    pick = picker(sampling, seed or 0)
    if request.prompt is None:
        from mobius_cli.commands.run.chat import chat
        from mobius_cli.runtime.conversation import Conversation

        talk = Conversation(model, codec, pick, system=request.system, variables=request.variables)
        return chat(talk, f"{model.manifest.name}{drawn and f' ({drawn})'}", request.tokens, output)
    answer = speak(model, codec, ids, request.tokens or TOKENS, pick, lambda piece: output.data(piece, end=""))
    output.data()
    output.note(
        f"[{len(ids)} prompt tokens in {answer.waited:.2f} s, {len(answer.tokens)} generated"
        f" at {answer.rate:.1f} tok/s, ended by {answer.end}{drawn and f'; {drawn}'}]"
    )
    output.result({
        "prompt_ids": ids, "tokens": list(answer.tokens), "text": answer.text, "stopped": answer.end == "a stop token",
        "tokens_per_second": answer.rate, "sampling": asdict(sampling), "seed": seed,
    })  # fmt: skip
    return 0


def chosen_sampling(given: Mapping[str, float], metadata: Mapping[str, Any], output: Output) -> Sampling:
    """What the user gave, else what the file says, else greedily; says which wishes of the file are not followed."""
    file = file_sampling(metadata)
    found: dict[str, Any] = {**file.values, **given}
    if found:
        found = {"temperature": 1.0, **found}
    sampling = Sampling(**found)
    for remark in () if sampling.greedy else file.ignored:
        output.note(f"note: {remark}")
    return sampling


def _codec(request: Request) -> TextCodec:
    codec = TextCodec(request.folder)
    if request.template is not None:
        codec.use_template(request.template)
    if request.prompt is None and codec.chat_template is None:
        raise InputError(
            f"{request.folder} has no chat template, and a text that is continued is no chat",
            f"give a prompt to continue: mobius run {request.folder} 'Once upon a time'",
        )
    return codec


def _prompt_ids(request: Request, prompt: str, codec: TextCodec) -> list[int]:
    if not request.raw and codec.chat_template is not None:
        return codec.encode_chat(first_messages(prompt, request.system), request.variables)
    if request.variables:
        raise MobiusError("--template-var is for a chat template, and there is none", "leave out --template-var")
    if request.system is not None:
        raise MobiusError("a system message needs a chat template", "leave out --raw, or put it into the prompt")
    return codec.encode(prompt)
