"""`mobius run`: generate text with a converted folder."""

import time
from pathlib import Path

from mobius_cli.given_text import given_text
from mobius_cli.output import Output
from mobius_cli.runtime.session import OnnxModel
from mobius_cli.runtime.text import TextCodec
from repack.errors import MobiusError


def run_prompt(
    folder: Path,
    prompt: str,
    output: Output,
    *,
    tokens: int,
    raw: bool,
    system: str | None,
    ep: str | None,
    threads: int,
) -> None:
    """Generate up to `tokens` tokens and stream them to stdout; the prompt - is read from stdin.

    Raises:
        MobiusError: the prompt does not fit, or a system message is given where no chat template takes it.
    """
    prompt = given_text(prompt)
    codec = TextCodec(folder)
    if system is not None and (raw or codec.chat_template is None):
        raise MobiusError("a system message needs a chat template", "leave out --raw, or put it into the prompt")
    ids = codec.encode(prompt) if raw or codec.chat_template is None else codec.encode_chat(prompt, system)
    if not ids:
        raise MobiusError("the prompt is empty", "say something with -p")
    model = OnnxModel(folder, ep=ep, threads=threads, last_logits=True)
    stream, text = codec.stream(), ""
    answer: list[int] = []
    start = time.perf_counter()
    first = start
    for token in model.greedy(ids, tokens):
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
