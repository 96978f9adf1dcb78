"""What llama.cpp answered, as a file: `verify --write-reference` on one machine, `--reference` on another."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from repack.errors import InputError, MobiusError

FORMAT = "mobius-reference/1"
_NAME, _VERSION = FORMAT.split("/")
T = TypeVar("T")
_DECIMALS = 6  # a float32 log-probability near 1 has no more


@dataclass(frozen=True)
class ModelFile:
    """The GGUF file that was run; `size` in bytes, `sha256` in lower-case hex."""

    name: str
    sha256: str
    size: int


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
    """

    text: str
    prompt_ids: list[int]
    tokens: list[int]
    top_ids: NDArray[np.int64]
    top_logprobs: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reference:
    """All that the ONNX half of a verification needs to know about the llama.cpp half."""

    model: ModelFile
    build: str
    settings: Settings
    prompts: list[PromptReference]

    def require_model(self, sha256: str) -> None:
        """Raise MobiusError unless `sha256` is that of the GGUF file this reference was made from."""
        if sha256 != self.model.sha256:
            raise MobiusError(
                f"the reference is of {self.model.name} (SHA-256 {self.model.sha256[:12]}...), "
                f"the model folder of a file with SHA-256 {sha256[:12]}...",
                "Write a reference from the file that was converted, or convert the file of the reference.",
            )

    def write(self, path: Path) -> None:
        """Write compact JSON, log-probabilities to 6 decimals; a killed run leaves no half-written file."""
        content = {
            "format": FORMAT,
            "model": vars(self.model),
            "build": self.build,
            "settings": vars(self.settings),
            "prompts": [_prompt_json(prompt) for prompt in self.prompts],
        }
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
        data = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
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
    return {
        "text": prompt.text,
        "prompt_ids": prompt.prompt_ids,
        "tokens": prompt.tokens,
        "top_ids": prompt.top_ids.tolist(),
        "top_logprobs": [[round(value, _DECIMALS) for value in row] for row in prompt.top_logprobs.tolist()],
    }


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


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
        model=ModelFile(
            name=_typed(model["name"], str), sha256=_typed(model["sha256"], str), size=_typed(model["size"], int)
        ),
        build=_typed(data["build"], str),
        settings=Settings(
            exact=_typed(settings["exact"], bool),
            kv_type=_typed(settings["kv_type"], str),
            threads=_typed(settings["threads"], int),
        ),
        prompts=[_parse_prompt(entry, i) for i, entry in enumerate(_typed(data["prompts"], list))],
    )
    if not reference.prompts:
        raise ValueError("it has no prompt")
    return reference


def _typed(value: Any, kind: type[T]) -> T:
    # bool is a subclass of int, so isinstance would let `true` pass as a size.
    if type(value) is not kind:
        raise TypeError(f"{value!r:.40} where {kind.__name__} is expected")
    return value


def _parse_prompt(entry: dict[str, Any], index: int) -> PromptReference:
    prompt_ids = _array(entry["prompt_ids"], "iu", 1)
    tokens = _array(entry["tokens"], "iu", 1)
    top_ids = _array(entry["top_ids"], "iu", 2)
    top_logprobs = _array(entry["top_logprobs"], "iuf", 2)
    where = f"prompt {index + 1}"
    if not prompt_ids.size or not tokens.size or not top_ids.size:
        raise ValueError(f"{where} has no tokens")
    if top_ids.shape != top_logprobs.shape or len(top_ids) != len(tokens):
        raise ValueError(f"{where}: {len(tokens)} tokens, {top_ids.shape} ids, {top_logprobs.shape} probabilities")
    if min(prompt_ids.min(), tokens.min(), top_ids.min()) < 0:
        raise ValueError(f"{where} has a negative token id")
    if top_logprobs.max() > 0.01:
        raise ValueError(f"{where} has a log-probability above 0")
    if not (top_ids == tokens[:, None]).any(axis=1).all():
        raise ValueError(f"{where} has a token that is not among its candidates")
    return PromptReference(
        text=_typed(entry["text"], str),
        prompt_ids=prompt_ids.tolist(),
        tokens=tokens.tolist(),
        top_ids=top_ids.astype(np.int64),
        top_logprobs=top_logprobs.astype(np.float64),
    )


def _array(value: Any, kinds: str, ndim: int) -> NDArray[Any]:
    array = np.array(_typed(value, list))
    if array.size and (array.dtype.kind not in kinds or array.ndim != ndim):
        raise ValueError(f"{value!r:.40} where numbers in {ndim} dimension(s) are expected")
    return array
