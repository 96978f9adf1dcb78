"""What llama-server's `/completion` answers, and what must hold for it to be a plain greedy decode."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repack.errors import MobiusError

TOO_OLD = "Use a newer llama.cpp (any build of 2025 or later)."

Row = dict[str, Any]  # one entry of `completion_probabilities`: id, logprob, top_logprobs [{id, logprob}]


@dataclass(frozen=True, eq=False)
class Generation:
    """A greedy continuation; step i predicts `tokens[i]` from the prompt and `tokens[:i]`.

    `top_ids` int64 and `top_logprobs` float64 are [steps, top], best first: natural log-probabilities over the
    whole vocabulary, before any sampler. `stop` is "limit", or "eos": the last token ends the text.
    Speeds are llama.cpp's own, in tokens per second.
    """

    tokens: list[int]
    top_ids: NDArray[np.int64]
    top_logprobs: NDArray[np.float64]
    build: str
    tokens_per_second: float
    prompt_per_second: float
    stop: str


def greedy_request(ids: list[int], n: int, top: int) -> dict[str, Any]:
    """The request for `n` greedy tokens after `ids`, with `top` candidates each, untouched by any sampler."""
    return {
        "prompt": ids,
        "n_predict": n,
        "n_probs": top,
        "post_sampling_probs": False,
        "return_tokens": True,
        "cache_prompt": False,  # a reused cache was computed in other batches: other rounding
        "stream": False,
        # An end-of-text token must end it: the server ignores it by a bias, which changes the argmax.
        "ignore_eos": False,
        "samplers": ["top_k"],
        "top_k": 1,
        "temperature": 0,
        "repeat_penalty": 1,
        "presence_penalty": 0,
        "frequency_penalty": 0,
        "dry_multiplier": 0,
        "mirostat": 0,
        "logit_bias": [],
    }


def align(tokens: list[int], rows: list[Row]) -> list[Row | None]:
    """The row of each token; None where it has none, or where it cannot be told which token a row is of.

    Rows are in order, but the server leaves out those at which its text so far ends inside a UTF-8 character.
    """
    first = _match(tokens, rows)
    last = [len(tokens) - 1 - step for step in _match(tokens[::-1], rows[::-1])][::-1]
    aligned: list[Row | None] = [None] * len(tokens)
    for row, earliest, latest in zip(rows, first, last, strict=True):
        if earliest == latest:
            aligned[earliest] = row
    return aligned


def _match(tokens: list[int], rows: list[Row]) -> list[int]:
    steps: list[int] = []
    for row in rows:
        try:
            steps.append(tokens.index(row["id"], steps[-1] + 1 if steps else 0))
        except (KeyError, ValueError) as error:
            raise MobiusError("llama-server's tokens and probabilities do not match", TOO_OLD) from error
    return steps


def check_argmax(row: Row, token: int) -> None:
    """Raise MobiusError if a candidate is more probable than `token`, the one that was picked."""
    best = row["top_logprobs"][0]
    if best["id"] != token and best["logprob"] > row["logprob"]:
        raise MobiusError(
            f"llama-server picked token {token} where {best['id']} is more probable",
            "Use a server without grammar, logit bias or speculative decoding.",
        )


def generation(answer: dict[str, Any], rows: list[Row], build: str) -> Generation:
    """Put together an answer and the row of each of its tokens."""
    timings = answer.get("timings", {})
    candidates = [row["top_logprobs"] for row in rows]
    return Generation(
        tokens=[int(token) for token in answer["tokens"]],
        top_ids=np.array([[entry["id"] for entry in row] for row in candidates], np.int64),
        top_logprobs=np.array([[entry["logprob"] for entry in row] for row in candidates], np.float64),
        build=build,
        tokens_per_second=float(timings.get("predicted_per_second") or 0),
        prompt_per_second=float(timings.get("prompt_per_second") or 0),
        stop="eos" if answer.get("stop_type") == "eos" else "limit",
    )
