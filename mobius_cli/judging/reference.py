"""What llama.cpp answered, as a file: `verify --write-reference` on one machine, `--reference` on another."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converters.checked import typed
from converters.folder.source_file import SourceFile
from mobius_cli.judging.checked_json import array, candidates, refuse_constant, rounded
from mobius_cli.judging.probes import Probe, parse_probes, probes_json
from mobius_cli.judging.text_reference import TextReference, parse_text, text_json
from repack.errors import InputError, MobiusError

FORMAT = "mobius-reference/1"
_NAME, _VERSION = FORMAT.split("/")


@dataclass(frozen=True)
class Settings:
    """How llama.cpp ran: `exact` = file dequantized to F32, no flash attention; `kv_type` such as "f16"."""

    exact: bool
    kv_type: str
    threads: int


@dataclass(frozen=True, eq=False)
class PromptReference:
    """One prompt and its greedy continuation.

    `tokens` has one id per step; `top_ids` int64 and `top_logprobs` float64 are [steps, top], best first:
    the candidates of that step with their natural log-probabilities over the whole vocabulary.
    `float32_logprobs`, if known: the same of our float32 graph with float activations, for the same ids.
    """

    text: str
    prompt_ids: list[int]
    tokens: list[int]
    top_ids: NDArray[np.int64]
    top_logprobs: NDArray[np.float64]
    float32_logprobs: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Reference:
    """All that the ONNX half of a verification needs to know about the llama.cpp half: prompts, a text, or both.

    `model` is the file that was run, or the first part of it. `as_gguf`: it is a checkpoint's, whose weights llama.cpp
    had as a GGUF file; the tokenizer is the checkpoint's own, and llama.cpp was not asked.
    """

    model: SourceFile
    build: str
    settings: Settings
    prompts: list[PromptReference]
    text: TextReference | None = None
    probes: list[Probe] = field(default_factory=list)  # of the tokenizer
    as_gguf: bool = False

    @property
    def tokenized(self) -> list[Probe]:
        """All texts with llama.cpp's ids."""
        if self.as_gguf:
            return []
        return [*self.probes, *(Probe(prompt.text, prompt.prompt_ids) for prompt in self.prompts)]

    def require_model(self, converted: SourceFile, path: Path) -> None:
        """Raise MobiusError unless the reference, which is in `path`, was made from the file that was converted."""
        converted.require_same(self.model, f"{self.model.file}, of which {path} is,")

    def write(self, path: Path) -> None:
        """Write compact JSON, log-probabilities to 6 decimals; a killed run leaves no half-written file."""
        content = {
            "format": FORMAT,
            "model": {"name": self.model.file, "sha256": self.model.sha256, "size": self.model.bytes},
            "build": self.build,
            "settings": vars(self.settings),
            "probes": probes_json(self.probes),
            "as_gguf": self.as_gguf,
            "prompts": [_prompt_json(prompt) for prompt in self.prompts],
        }
        if self.text is not None:
            content["text"] = text_json(self.text)
        text = json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_text(text + "\n", encoding="utf-8")
            temporary.replace(path)
        except OSError as error:
            raise MobiusError(f"{path}: cannot write it ({error.strerror})", "Check folder and space.") from error
        finally:
            temporary.unlink(missing_ok=True)


def read_reference(path: Path) -> Reference:
    """The reference in a file. Raises InputError if it is missing, not a reference, or damaged."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse_constant)
        _check_format(data, path)
        return _parse(data)
    except OSError as error:
        raise InputError(f"{path}: cannot read it ({error.strerror})", "Check the path.") from error
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        what = f"no field {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"{path}: not a reference, or damaged ({what})", "Write it again with mobius verify --write-reference."
        ) from error


def _prompt_json(prompt: PromptReference) -> dict[str, Any]:
    content = {
        "text": prompt.text,
        "prompt_ids": prompt.prompt_ids,
        "tokens": prompt.tokens,
        "top_ids": prompt.top_ids.tolist(),
        "top_logprobs": rounded(prompt.top_logprobs),
    }
    if prompt.float32_logprobs is not None:
        content["float32_logprobs"] = rounded(prompt.float32_logprobs)
    return content


def _check_format(data: Any, path: Path) -> None:
    found = data.get("format") if isinstance(data, dict) else None
    if found == FORMAT:
        return
    name, _, version = found.partition("/") if isinstance(found, str) else ("", "", "")
    if name == _NAME:
        raise InputError(
            f"{path}: reference format {version!r}, this mobius reads {_VERSION!r}",
            "Write it again with this mobius, or read it with the one that wrote it.",
        )
    raise ValueError(f'"format" is {found!r}, expected "{FORMAT}"')


def _parse(data: dict[str, Any]) -> Reference:
    model, settings = data["model"], data["settings"]
    reference = Reference(
        model=SourceFile(typed(model["name"], str), typed(model["sha256"], str), typed(model["size"], int)),
        build=typed(data["build"], str),
        settings=Settings(
            exact=typed(settings["exact"], bool),
            kv_type=typed(settings["kv_type"], str),
            threads=typed(settings["threads"], int),
        ),
        prompts=[_parse_prompt(entry, i) for i, entry in enumerate(typed(data["prompts"], list))],
        text=parse_text(typed(data["text"], dict)) if "text" in data else None,
        probes=parse_probes(typed(data.get("probes", []), list)),
        as_gguf=typed(data.get("as_gguf", False), bool),
    )
    if not reference.prompts and reference.text is None:
        raise ValueError("it has no prompt and no text")
    return reference


def _parse_prompt(entry: dict[str, Any], index: int) -> PromptReference:
    prompt_ids = array(entry["prompt_ids"], "iu", 1)
    tokens = array(entry["tokens"], "iu", 1)
    where = f"prompt {index + 1}"
    if not prompt_ids.size or not tokens.size:
        raise ValueError(f"{where} has no tokens")
    top_ids, top_logprobs = candidates(entry, len(tokens), where)
    if min(prompt_ids.min(), tokens.min()) < 0:
        raise ValueError(f"{where} has a negative token id")
    if not (top_ids == tokens[:, None]).any(axis=1).all():
        raise ValueError(f"{where} has a token that is not among its candidates")
    float32 = None
    if "float32_logprobs" in entry:
        beside = {"top_ids": entry["top_ids"], "top_logprobs": entry["float32_logprobs"]}
        _, float32 = candidates(beside, len(tokens), f"{where}, float32_logprobs")
    return PromptReference(
        text=typed(entry["text"], str),
        prompt_ids=prompt_ids.tolist(),
        tokens=tokens.tolist(),
        top_ids=top_ids,
        top_logprobs=top_logprobs,
        float32_logprobs=float32,
    )
