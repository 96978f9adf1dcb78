"""`mobius verify --text`: perplexity of both engines and KL divergence over a text that neither of them wrote."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mobius_cli.judging.text_reference import FEWEST_TOKENS, TextReference
from mobius_cli.judging.text_score import TextScore, score_text
from mobius_cli.llama_cpp.server import LlamaServer
from mobius_cli.output import Advance, Output
from mobius_cli.runtime.text import TextCodec
from mobius_cli.table import shortened
from repack.errors import InputError

if TYPE_CHECKING:
    from mobius_cli.runtime.session import OnnxModel

CANDIDATES = 64  # log-probabilities that llama.cpp reports per step
_CHARACTERS = 32  # read per token asked for: more than any text has on average
_PIECE = 1 << 24  # logits at a time: 64 MB of float32


@dataclass(frozen=True)
class Text:
    """The beginning of a text file: `content`, all its token ids `all_ids`, and the first of them, to be scored."""

    name: str
    content: str
    all_ids: list[int]
    ids: list[int]


def open_text(path: Path, tokens: int, context: int, codec: TextCodec) -> Text:
    """The first `tokens` tokens of a UTF-8 file, or as many as `context` holds.

    Raises:
        InputError: it cannot be read, is not UTF-8, or has fewer than FEWEST_TOKENS tokens.
    """
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot read it ({error.strerror})", "check the path") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text", "save it as UTF-8") from error
    count = min(tokens, context)
    content = content[: _CHARACTERS * count]
    ids = codec.encode(content)
    if len(ids[:count]) < FEWEST_TOKENS:
        raise InputError(f"{path}: {len(ids[:count])} tokens are too few to score", f"give at least {FEWEST_TOKENS}")
    return Text(path.name, content, ids, ids[:count])


def ask_llama(server: LlamaServer, text: Text, output: Output) -> TextReference:
    """llama.cpp's log-probabilities of the text, each position a decode step after the text before it."""
    rows = []
    with output.progress("llama.cpp scores", len(text.ids) - 1, "tokens") as advance:
        for position in range(1, len(text.ids)):
            rows.append(server.score(text.ids[:position], text.ids[position], CANDIDATES))
            advance(1, text.name)
    return TextReference(
        name=text.name,
        ids=text.ids,
        logprobs=np.array([row["logprob"] for row in rows], np.float64),
        top_ids=np.array([[entry["id"] for entry in row["top_logprobs"]] for row in rows], np.int64),
        top_logprobs=np.array([[entry["logprob"] for entry in row["top_logprobs"]] for row in rows], np.float64),
    )


def judge_text(model: "OnnxModel", text: TextReference, exact: bool, output: Output) -> TextScore:
    """Score the same tokens with ONNX Runtime.

    Raises:
        MobiusError: the text does not fit the model's context.
    """
    with output.progress("ONNX Runtime scores", len(text.ids) - 1, "tokens") as advance:
        return score_text(text, _pieces(model, text.ids[:-1], advance), exact=exact)


def _pieces(model: "OnnxModel", ids: list[int], advance: Advance) -> Iterator[NDArray[np.float32]]:
    """Logits of consecutive positions, few enough at a time to hold the whole vocabulary of each."""
    length = min(256, max(1, _PIECE // model.manifest.vocab))
    decoding = model.start(len(ids))
    for start in range(0, len(ids), length):
        piece = ids[start : start + length]
        yield decoding.run(piece)
        advance(len(piece), "")


def print_text(score: TextScore, llama: str, output: Output) -> None:
    """A table of one row, what else was measured, and why it diverged; `llama` says which llama.cpp ran on what."""
    ratio = "-" if score.ratio is None else f"{score.ratio:.4f} ± {score.ratio_error:.2g}"
    row = (
        shortened(score.name, 16), str(score.tokens), score.verdict,
        _number(score.perplexity_llama_cpp, ".3f"), _number(score.perplexity_onnx_runtime, ".3f"), ratio,
    )  # fmt: skip
    output.table(("text", "tokens", "verdict", "llama.cpp", "ours", "ratio"), [row], right=(1, 3, 4, 5))
    if score.reason:
        output.words(f"{score.name!r}: {score.reason}")
    output.words(f"perplexity of {llama}, and ours in ONNX Runtime; ratio and its standard error")
    mean, median, p99 = (_number(kl, ".3g") for kl in (score.mean_kl, score.median_kl, score.p99_kl))
    output.words(f"KL divergence: mean {mean}, median {median}, 99 % {p99} nats")
    output.detail("  over llama.cpp's most likely tokens and all others as one")
    output.detail(f"  the same most likely token at {_number(score.agreement, '.1%')} of the positions")


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
