"""An answer as it comes: tokens to text, how long it took, and why it ended."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from mobius_cli.runtime.sampling import Pick
from mobius_cli.runtime.session import OnnxModel
from mobius_cli.runtime.text import TextCodec
from mobius_cli.runtime.token_cache import TokenCache, never

End = Literal["a stop token", "the limit", "the end of the context", "an interrupt"]


@dataclass(frozen=True)
class Answer:
    """What a model said.

    Attributes:
        prompt_ids: what it was given.
        tokens: what it generated, with the stop token.
        text: what it said.
        end: what ended it.
        waited: seconds until the first token.
        rate: tokens per second after the first; 0 where that was the only one.
    """

    prompt_ids: Sequence[int]
    tokens: Sequence[int]
    text: str
    end: End
    waited: float
    rate: float


def speak(
    model: OnnxModel,
    codec: TextCodec,
    ids: Sequence[int],
    limit: int,
    pick: Pick,
    say: Callable[[str], None],
    cache: TokenCache | None = None,
    stopped: Callable[[], bool] = never,
) -> Answer:
    """Generate, as `OnnxModel.generate` does, and `say` each piece of text as it comes.

    Raises:
        InputError: the prompt does not fit.
        MobiusError: the model gives no logits to choose by.
    """
    stream, text = codec.stream(), ""
    tokens: list[int] = []
    start = first = time.perf_counter()
    for token in model.generate(ids, limit, pick, cache, stopped):
        if not tokens:
            first = time.perf_counter()
        tokens.append(token)
        if token not in model.stop_ids and (piece := stream(token)):
            text += piece
            say(piece)
    seconds = time.perf_counter() - first
    rate = (len(tokens) - 1) / seconds if len(tokens) > 1 and seconds > 0 else 0.0
    return Answer(ids, tokens, text, _end(model, ids, tokens, limit), first - start, rate)


def _end(model: OnnxModel, ids: Sequence[int], tokens: Sequence[int], limit: int) -> End:
    if tokens and tokens[-1] in model.stop_ids:
        return "a stop token"
    if len(ids) + len(tokens) == model.context_length:
        return "the end of the context"
    return "the limit" if len(tokens) == limit else "an interrupt"
