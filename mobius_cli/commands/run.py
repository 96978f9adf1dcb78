"""`mobius run`: generate text with a converted folder."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mobius_cli.options import given_text
from mobius_cli.output import Output
from mobius_cli.runtime.session import OnnxModel
from mobius_cli.runtime.text import TextCodec
from repack.errors import InputError, MobiusError


@dataclass(frozen=True)
class Request:
    """What the user asked for; `raw`: without a chat template, `template`: with the one of this name.

    `variables` go to the chat template on top of those that it always gets.
    """

    folder: Path
    prompt: str
    tokens: int
    raw: bool
    system: str | None
    template: str | None
    ep: str | None
    threads: int
    variables: Mapping[str, Any] = field(default_factory=dict)


def run_prompt(request: Request, output: Output) -> None:
    """Generate up to `tokens` tokens and stream them to stdout; the prompt - is read from stdin.

    Raises:
        MobiusError: the prompt does not fit, or there is no chat template that the request needs.
    """
    codec = TextCodec(request.folder)
    ids = _prompt_ids(request, codec)
    if not ids:
        raise InputError("the prompt is empty", "say something with -p")
    model = OnnxModel(request.folder, ep=request.ep, threads=request.threads, last_logits=True)
    stream, text = codec.stream(), ""
    answer: list[int] = []
    start = time.perf_counter()
    first = start
    for token in model.greedy(ids, request.tokens):
        if not answer:
            first = time.perf_counter()
        answer.append(token)
        piece = "" if token in model.stop_ids else stream(token)
        text += piece
        output.data(piece, end="")
    seconds = time.perf_counter() - first
    output.data()
    rate = (len(answer) - 1) / seconds if len(answer) > 1 and seconds > 0 else 0.0
    stopped = bool(answer) and answer[-1] in model.stop_ids
    output.note(
        f"[{len(ids)} prompt tokens in {first - start:.2f} s, {len(answer)} generated at {rate:.1f} tok/s,"
        f" ended by {'a stop token' if stopped else 'the limit'}]"
    )
    output.result({"prompt_ids": ids, "tokens": answer, "text": text, "stopped": stopped, "tokens_per_second": rate})


def _prompt_ids(request: Request, codec: TextCodec) -> list[int]:
    prompt = given_text(request.prompt)
    if request.template is not None:
        if request.raw:
            raise MobiusError("--raw takes no chat template", "leave out --raw or --chat-template")
        codec.use_template(request.template)
    if not request.raw and codec.chat_template is not None:
        return codec.encode_chat(prompt, request.system, request.variables)
    if request.variables:
        raise MobiusError("--template-var is for a chat template, and there is none", "leave out --template-var")
    if request.system is not None:
        raise MobiusError("a system message needs a chat template", "leave out --raw, or put it into the prompt")
    return codec.encode(prompt)
