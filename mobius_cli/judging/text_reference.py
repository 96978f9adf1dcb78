"""What llama.cpp says of a given text: each token's log-probability, and what it would rather have read."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converters.checked import typed
from mobius_cli.judging.checked_json import LARGEST_LOGPROB, array, candidates, rounded

FEWEST_TOKENS = 16  # of a text: fewer say nothing about a mean
_SAME = 1e-4  # nats; a token's log-probability, and the same among the candidates


@dataclass(frozen=True, eq=False)
class TextReference:
    """A text of len(ids) tokens, of which all but the first are scored: steps = len(ids) - 1.

    `logprobs` float64 [steps]: natural log-probability of `ids[i + 1]` after `ids[:i + 1]`. `top_ids` int64 and
    `top_logprobs` float64 [steps, top], best first: the candidates there. All over the whole vocabulary.
    """

    name: str
    ids: list[int]
    logprobs: NDArray[np.float64]
    top_ids: NDArray[np.int64]
    top_logprobs: NDArray[np.float64]


def text_json(text: TextReference) -> dict[str, Any]:
    """As a JSON object, log-probabilities to 6 decimals."""
    return {
        "name": text.name,
        "ids": text.ids,
        "logprobs": rounded(text.logprobs),
        "top_ids": text.top_ids.tolist(),
        "top_logprobs": rounded(text.top_logprobs),
    }


def parse_text(entry: dict[str, Any]) -> TextReference:
    """From what `text_json` made. Raises KeyError, TypeError or ValueError if it is damaged."""
    ids = array(entry["ids"], "iu", 1)
    logprobs = array(entry["logprobs"], "iuf", 1)
    if len(ids) < FEWEST_TOKENS:
        raise ValueError(f"the text has {len(ids)} tokens, fewer than {FEWEST_TOKENS}")
    if ids.min() < 0:
        raise ValueError("the text has a negative token id")
    if len(logprobs) != len(ids) - 1:
        raise ValueError(f"the text has {len(ids)} tokens and {len(logprobs)} log-probabilities")
    if logprobs.max() > LARGEST_LOGPROB:
        raise ValueError("the text has a token with a log-probability above 0")
    top_ids, top_logprobs = candidates(entry, len(logprobs), "the text")
    listed = top_ids == ids[1:, None]
    if (np.abs(top_logprobs - logprobs[:, None])[listed] > _SAME).any():
        raise ValueError("the text has a token with two log-probabilities")
    return TextReference(
        name=typed(entry["name"], str),
        ids=ids.tolist(),
        logprobs=logprobs.astype(np.float64),
        top_ids=top_ids,
        top_logprobs=top_logprobs,
    )
