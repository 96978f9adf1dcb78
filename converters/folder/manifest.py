"""`mobius.json`: what a model folder is, as one typed record that everything else reads. It needs no ONNX package."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from converters.checked import each, typed
from converters.folder.metadata import plain_metadata, restored_metadata
from converters.folder.seal import CARD
from converters.folder.source_file import OnBytes, SourceFile, ignored
from converters.folder.tokenizer_record import TokenizerRecord
from converters.graph.routers import RouterRecord
from converters.graph.states import State
from converters.weights.records import TensorRecord
from repack.errors import InputError

MANIFEST = "mobius.json"
GRAPH = ".onnx"  # how the one file that is a graph ends
FORMAT = 5  # one more with every change that an older or newer mobius would read wrongly
_STATE_TYPES = {"float32": 4, "float16": 2, "bfloat16": 2}  # bytes of a number
T = TypeVar("T")


@dataclass(frozen=True)
class Tool:
    """Who wrote the folder: name and version, and the versions of the packages that took part."""

    name: str
    version: str
    packages: Mapping[str, str]

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> Self:
        """From JSON. Raises KeyError or TypeError if it is damaged."""
        packages = {name: typed(version, str) for name, version in typed(entry["packages"], dict).items()}
        return cls(typed(entry["name"], str), typed(entry["version"], str), packages)


@dataclass(frozen=True)
class TargetRecord:
    """What the graph was made for; the names of `converters.target.Target` mean the same here.

    Attributes:
        context_length: tokens that tables and cache were made for.
        norms_heads: in this graph the attention operator norms q and k itself, which not every provider can.
        oldest_runtime: version of ONNX Runtime that has the graph's operators, and computes them right.
    """

    name: str
    dtype: str
    storage: str
    accuracy_level: int
    dequantize: bool
    quant_format: str
    context_length: int
    norms_heads: bool
    oldest_runtime: str

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> Self:
        """From JSON. Raises KeyError or TypeError if it is damaged."""
        return cls(
            name=typed(entry["name"], str),
            dtype=typed(entry["dtype"], str),
            storage=typed(entry["storage"], str),
            accuracy_level=typed(entry["accuracy_level"], int),
            dequantize=typed(entry["dequantize"], bool),
            quant_format=typed(entry["quant_format"], str),
            context_length=typed(entry["context_length"], int),
            norms_heads=typed(entry["norms_heads"], bool),
            oldest_runtime=typed(entry["oldest_runtime"], str),
        )


@dataclass(frozen=True)
class Manifest:
    """All that is known of a model folder.

    Attributes:
        source: the GGUF file, in all its parts.
        metadata: what the folder keeps of the file's metadata, types and all.
        spec: the model, for people; code reads no more than its plain numbers, for which there are properties.
        states: what layers carry from token to token, in the order of the graph's inputs.
        routers: where the graph chooses experts, in its order.
        hidden: name of the value from which the head makes logits: [batch, sequence, hidden].
        warnings: of the conversion, without the tokenizer's own.
        tensors: every tensor of the file and what became of it.
        files: size in bytes of each other file of the folder, by its path inside.
        hashes: SHA-256 of each, in hex, and of the rest of the manifest itself; none in folders of older versions.
    """

    tool: Tool
    source: tuple[SourceFile, ...]
    target: TargetRecord
    metadata: Mapping[str, Any]
    tokenizer: TokenizerRecord
    spec: Mapping[str, Any]
    states: tuple[State, ...]
    routers: tuple[RouterRecord, ...]
    hidden: str
    warnings: tuple[str, ...]
    tensors: tuple[TensorRecord, ...]
    files: Mapping[str, int]
    hashes: Mapping[str, str] = field(default_factory=dict)

    @property
    def graph(self) -> str:
        """Path of the graph inside the folder."""
        return next(name for name in self.files if name.endswith(GRAPH))

    @property
    def architecture(self) -> str:
        """llama.cpp's name of the architecture."""
        return str(self.spec["architecture"])

    @property
    def vocab(self) -> int:
        """Tokens of the vocabulary: columns of the logits."""
        return int(self.spec["vocab"])

    @property
    def name(self) -> str:
        """The model's name, or that of its file where it has none."""
        name = self.metadata.get("general.name")
        return name if isinstance(name, str) and name else self.source[0].file

    @property
    def source_bytes(self) -> int:
        """Size of the GGUF file, with all its parts."""
        return sum(part.bytes for part in self.source)

    @property
    def in_place(self) -> bool:
        """Whether every state is one buffer that runs write into, so that addresses and shapes stay."""
        return all(state.in_place for state in self.states)

    def state_bytes(self, positions: int) -> int:
        """What the states of one sequence hold after so many tokens."""
        return sum(math.prod(state.sizes(positions)) * _STATE_TYPES[state.dtype] for state in self.states)

    def require_source(self, paths: Sequence[Path], on_bytes: OnBytes = ignored) -> None:
        """Refuse anything but the parts of the file that was converted, which are read as a whole.

        Raises:
            MobiusError: another file, or another number of parts.
        """
        if len(paths) != len(self.source):
            raise self.source[0].refusal(str(paths[0]))
        for path, known in zip(paths, self.source, strict=True):
            known.require(path, on_bytes)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "format": FORMAT,
            "tool": asdict(self.tool),
            "source": [asdict(part) for part in self.source],
            "target": asdict(self.target),
            "metadata": plain_metadata(self.metadata),
            "tokenizer": self.tokenizer.as_dict(),
            "spec": dict(self.spec),
            "states": [state.as_dict() for state in self.states],
            "routers": [router.as_dict() for router in self.routers],
            "hidden": self.hidden,
            "warnings": list(self.warnings),
            "tensors": [record.as_dict() for record in self.tensors],
            "files": dict(self.files),
            "hashes": dict(self.hashes),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """From what `as_dict` gave and JSON kept. Raises ValueError, which says what is damaged."""
        found = cls(
            tool=_part(data, "tool", Tool.from_dict),
            source=_part(data, "source", _every(SourceFile.from_dict)),
            target=_part(data, "target", TargetRecord.from_dict),
            metadata=_part(data, "metadata", restored_metadata),
            tokenizer=_part(data, "tokenizer", TokenizerRecord.from_dict),
            spec=_part(data, "spec", _spec),
            states=_part(data, "states", _every(_state)),
            routers=_part(data, "routers", _every(RouterRecord.from_dict)),
            hidden=_part(data, "hidden", lambda name: typed(name, str)),
            warnings=_part(data, "warnings", lambda values: each(values, str)),
            tensors=_part(data, "tensors", _every(TensorRecord.from_dict)),
            files=_part(data, "files", _files),
            hashes=_part({"hashes": {}, **data}, "hashes", _hashes),
        )
        if not found.source:
            raise ValueError("source: no file is named")
        return found


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a model folder, which still has all of its files.

    Raises:
        InputError: the folder is missing, was not written by mobius or by one that this one does not understand,
            is damaged, or lost a file; README.md may be another one.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder", "give the folder that `mobius convert` wrote")
    path = folder / MANIFEST
    try:
        data = typed(json.loads(path.read_text(encoding="utf-8")), dict)
    except FileNotFoundError:
        raise InputError(f"{folder} has no {MANIFEST}", "give the folder that `mobius convert` wrote") from None
    except (ValueError, TypeError, OSError, RecursionError) as error:
        raise _unreadable(path, error) from error
    _check_format(path, data)
    try:
        manifest = Manifest.from_dict(data)
    except ValueError as error:
        raise _unreadable(path, error) from error
    for name, size in manifest.files.items():
        if name == CARD:  # people may change it, or take it away
            continue
        found = (folder / name).stat().st_size if (folder / name).is_file() else -1
        if found != size:
            state = "is missing" if found < 0 else f"has {found} bytes instead of {size}"
            raise InputError(f"{folder / name} {state}", "convert the model again with --force")
    return manifest


def _check_format(path: Path, data: dict[str, Any]) -> None:
    found = data.get("format")
    if found == FORMAT:
        return
    if type(found) is not int:
        raise _unreadable(path, ValueError(f'"format" is {found!r:.40}'))
    tool = data.get("tool")
    version = f" {tool['version']}" if isinstance(tool, dict) and isinstance(tool.get("version"), str) else ""
    age, hint = ("an older", "convert the GGUF again") if found < FORMAT else (
        "a newer", "update mobius, or convert the GGUF again")  # fmt: skip
    raise InputError(f"{path} is of {age} mobius{version}: format {found}, this one reads {FORMAT}", hint)


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"{path} cannot be read: {error}", "convert the model again with --force")


def _part(data: dict[str, Any], key: str, read: Callable[[Any], T]) -> T:
    """One entry; whatever is wrong with it becomes a ValueError that names it."""
    try:
        return read(data[key])
    except KeyError as error:
        where = "" if error.args == (key,) else f"{key}: "
        raise ValueError(f"{where}{error} is missing") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{key}: {error}") from error


def _every(read: Callable[[Any], T]) -> Callable[[Any], tuple[T, ...]]:
    """A reader of a list of such entries."""
    return lambda entries: tuple(read(entry) for entry in typed(entries, list))


def _state(entry: Any) -> State:
    state = State.from_dict(typed(entry, dict))
    if state.dtype not in _STATE_TYPES:
        raise ValueError(f"dtype {state.dtype!r:.40} is not one of: {', '.join(_STATE_TYPES)}")
    return state


def _files(entry: Any) -> dict[str, int]:
    sizes = {name: typed(size, int) for name, size in typed(entry, dict).items()}
    if len(graphs := [name for name in sizes if name.endswith(GRAPH)]) != 1:
        raise ValueError(f"{len(graphs)} graphs where one is expected")
    return sizes


def _hashes(entry: Any) -> dict[str, str]:
    return {name: typed(value, str) for name, value in typed(entry, dict).items()}


def _spec(entry: Any) -> dict[str, Any]:
    typed(entry["architecture"], str)
    typed(entry["vocab"], int)
    return typed(entry, dict)
