"""A Hugging Face folder as transformers itself reads it: the one proof that its configuration was understood, too."""

import math
import os
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from converters.folder.manifest import Manifest
from mobius_cli.commands.verify.float16 import FLOATS
from mobius_cli.commands.verify.passes import judge_prompts
from mobius_cli.judging.compare import Verdict
from mobius_cli.judging.reference import PromptReference
from mobius_cli.output import Output
from repack.errors import MobiusError

CANDIDATES = 32
_NOT_LOADED = ("missing_keys", "unexpected_keys", "mismatched_keys")
_SPARE = 1.3  # times the weights in float32, which is what transformers needs to load them


def ask_transformers(
    checkpoint: Path, manifest: Manifest, prompts: Sequence[tuple[str, list[int]]], tokens: int, output: Output
) -> tuple[str, list[PromptReference]]:
    """The greedy answers of transformers in float32 to prompts (text, ids), and its version.

    Raises:
        MobiusError: it is not installed, cannot load the folder, or has not the memory.
    """
    if find_spec("torch") is None or find_spec("transformers") is None:
        raise MobiusError("transformers with torch is not installed", "pip install transformers torch")
    needed = 4 * sum(math.prod(record.shape) for record in manifest.tensors)
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed * _SPARE > free:
        raise MobiusError(f"transformers needs {needed * _SPARE / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are free")
    torch, transformers = _library("torch"), _library("transformers")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        model, info = transformers.AutoModelForCausalLM.from_pretrained(
            checkpoint,
            dtype=torch.float32,
            local_files_only=True,
            attn_implementation="eager",
            output_loading_info=True,
        )
    except Exception as error:  # a package that is missing, a method it does not know, whatever else it finds wrong
        raise MobiusError(f"transformers cannot load it: {' '.join(str(error).split())[:120]}") from error
    if left := sorted({str(name) for kind in _NOT_LOADED for name in info.get(kind) or ()}):  # random, and no error
        raise MobiusError(f"transformers does not read {len(left)} of its tensors, such as {left[0]}")
    answers = []
    with output.progress("transformers decodes", len(prompts), "prompts") as advance:
        for text, ids in prompts:
            answers.append(_answer(model.eval(), text, ids, tokens))
            advance(1, "")
    return transformers.__version__, answers


def _library(name: str) -> Any:
    """Imported here only: both are large, and optional."""
    return import_module(name)


def _answer(model: Any, text: str, ids: list[int], count: int) -> PromptReference:
    """Greedy, whatever the folder's own wishes are, and past the ends of texts."""
    torch, transformers = _library("torch"), _library("transformers")
    plain = {"max_new_tokens": count, "do_sample": False, "output_logits": True, "return_dict_in_generate": True}
    model.generation_config = transformers.GenerationConfig(**plain, pad_token_id=0)
    given = torch.tensor([ids])
    with torch.inference_mode():
        made = model.generate(given, attention_mask=torch.ones_like(given))
    logprobs = torch.log_softmax(torch.cat(made.logits).double(), dim=-1).numpy()
    best = np.argsort(-logprobs, axis=1, kind="stable")[:, :CANDIDATES].astype(np.int64)
    tokens = [int(token) for token in made.sequences[0, len(ids) :]]
    return PromptReference(text, ids, tokens, best, np.take_along_axis(logprobs, best, axis=1))


def judge_by_transformers(
    folder: Path, manifest: Manifest, answers: Sequence[PromptReference], ep: str | None, threads: int, output: Output
) -> list[Verdict]:
    """A verdict for each prompt: exact for float32 folders, since neither side rounds activations.

    Raises:
        InputError: ONNX Runtime cannot load the folder.
        MobiusError: the execution provider is not installed, or a prompt does not fit the model's context.
    """
    from mobius_cli.runtime.session import OnnxModel

    model = OnnxModel(folder, ep=ep, threads=threads, accuracy_level=FLOATS)
    return judge_prompts(model, answers, manifest.target.dtype == "float32", output)[0]


def by_transformers_line(version: str, verdicts: Sequence[Verdict]) -> str:
    """What came of it, in words."""
    counts = {kind: sum(v.kind == kind for v in verdicts) for kind in ("identical", "near-tie", "diverged")}
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    worst = max((v.max_abs_logprob_diff or 0.0 for v in verdicts), default=0.0)
    many = f"{said} of {len(verdicts)} prompts, {sum(v.steps for v in verdicts)} tokens"
    return f"transformers {version}: {many}, log-probabilities within {worst:.2g}"
