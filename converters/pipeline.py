"""The conversion itself: a plan becomes a folder."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

from converters.folder import configs
from converters.folder.card.card import model_card
from converters.folder.hugging_face import hugging_face_config
from converters.folder.integrity import with_own_hash
from converters.folder.layout import GraphFiles
from converters.folder.manifest import MANIFEST, Manifest, TargetRecord, Tool
from converters.folder.metadata import kept_metadata
from converters.folder.sampling import file_sampling
from converters.folder.seal import CARD
from converters.folder.source_file import SourceFile, sha256_of
from converters.folder.tokenizer_record import TokenizerRecord
from converters.folder.writer import OnTensor, files_in, new_folder, write_json
from converters.plan import Plan
from converters.sources.source import Source
from converters.tokenizer.export import TokenizerFiles
from converters.tokenizer.stored import token_ids, write_tokenizer
from converters.version import PRODUCER, tool_version
from converters.weights.records import sum_roundings
from converters.weights.rounding import Rounding

OnProgress = Callable[[str, int], None]  # what is done, and how many bytes more are done


def ignored(what: str, count: int) -> None:
    """For who does not want to know how far it is."""


@dataclass(frozen=True)
class Result:
    """A finished folder and what is worth saying about it."""

    folder: Path
    files: dict[str, int]  # name -> bytes
    graph: GraphFiles
    source_bytes: int
    roundings: dict[str, Rounding] = field(default_factory=dict)  # "Q4_K scale" -> sum over tensors
    warnings: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether nothing was rounded."""
        return not any(r.rounded for r in self.roundings.values())

    @property
    def model_bytes(self) -> int:
        """Graph and weights, without tokenizer and configs."""
        return self.files[self.graph.model] + self.files[self.graph.data]


def convert(plan: Plan, destination: Path, *, force: bool = False, on_progress: OnProgress = ignored) -> Result:
    """Write the model folder.

    Args:
        plan: what to write.
        destination: the folder.
        force: it may be replaced.
        on_progress: told what is done and how many bytes more are done, `work_bytes(plan)` in all; from another thread,
            too.

    Raises:
        MobiusError: something in the weights or the tokenizer cannot be kept, or the disk is full.
    """
    with new_folder(destination, force, plan.data_bytes) as work, _hashing(plan.source, on_progress) as hashing:
        tokens = plan.source.tokenizer()
        write_texts(plan, tokens, work)
        parts = hashing.result()
        data_hash = _write_model(
            plan, work, parts[0].sha256, lambda name, size: on_progress(f"writing {name}".strip(), size)
        )
        _recall_roundings(plan)
        roundings = sum_roundings(plan.weights.records.values())
        (work / CARD).write_bytes(model_card(plan, parts, tokens, roundings).encode())
        files = {path.relative_to(work).as_posix(): path.stat().st_size for path in files_in(work)}
        hashes = {name: data_hash if name == plan.files.data else sha256_of(work / name) for name in files}
        manifest = _manifest(plan, parts, tokens, files, hashes)
        write_json(work / MANIFEST, with_own_hash(manifest.as_dict()))
        files[MANIFEST] = (work / MANIFEST).stat().st_size
    return Result(
        destination,
        files,
        plan.files,
        plan.source.size,
        roundings,
        (*plan.warnings, *tokens.warnings),
    )


def write_texts(plan: Plan, tokens: TokenizerFiles, work: Path) -> None:
    """Write the tokenizer and the configurations into an existing folder."""
    write_tokenizer(work, tokens, plan.context_length, plan.target.padding_side)
    write_json(work / "genai_config.json", configs.genai_config(plan, tokens))
    write_json(work / "config.json", hugging_face_config(plan, tokens))
    drawn = file_sampling(plan.source.metadata).as_config()
    write_json(work / "generation_config.json", {**configs.generation_config(tokens), **drawn})


@contextmanager
def _hashing(source: Source, on_progress: OnProgress) -> Iterator[Future[list[SourceFile]]]:
    """The source's provenance, from another thread, which ends early if what is done meanwhile fails."""
    over = threading.Event()

    def on_bytes(size: int) -> None:
        if over.is_set():
            raise InterruptedError
        on_progress(f"hashing {source.path.name}", size)

    def hash_all() -> list[SourceFile]:
        parts = source.provenance(on_bytes)
        on_progress("making the tokenizer", 0)  # which may take longer
        return parts

    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool.submit(hash_all)
        finally:
            over.set()


def work_bytes(plan: Plan) -> int:
    """How many bytes are hashed and written: what tells how far a conversion is."""
    return plan.source.provenance_bytes + plan.data_bytes


def _write_model(plan: Plan, work: Path, sha256: str, on_tensor: OnTensor) -> str:
    """Graph and weights; the hash of these."""
    from converters.graph.onnx_file import write_graph

    metadata = plan.source.metadata
    properties = {
        "converted_from": f"{plan.source.kind} {plan.source.path.absolute().name}",
        f"{plan.source.kind.lower()}_sha256": sha256,
        "architecture": plan.spec.architecture,
        "target": f"{plan.target.name} {plan.target.dtype} {plan.target.storage}",
    }
    for key in ("license", "author", "name"):
        if isinstance(value := metadata.get(f"general.{key}"), str):
            properties[key] = value
    return write_graph(plan.graph, work, properties, (PRODUCER, tool_version()), on_tensor, plan.files)


def _recall_roundings(plan: Plan) -> None:
    """Report what was rounded when the source was made: its numbers do not tell any more."""
    for name, known in plan.source.rounded.items():
        found = plan.weights.records[name].roundings
        for kind, rounding in known.items():
            if rounding.rounded and kind in found:
                found[kind] = replace(rounding, count=found[kind].count)


def _manifest(
    plan: Plan, parts: Sequence[SourceFile], tokens: TokenizerFiles, files: dict[str, int], hashes: dict[str, str]
) -> Manifest:
    names = ("gguf", "numpy", "onnx", "onnx-ir")
    target = plan.target
    return Manifest(
        tool=Tool(PRODUCER, tool_version(), {name: version(name) for name in names}),
        source=tuple(parts),
        target=TargetRecord(
            name=target.name,
            dtype=target.dtype,
            storage=target.storage,
            accuracy_level=target.accuracy_level,
            dequantize=target.dequantize,
            quant_format=target.quant_format,
            context_length=plan.context_length,
            norms_heads=plan.norms_heads,
            oldest_runtime=plan.oldest_runtime,
        ),
        metadata=kept_metadata(plan.source.metadata),
        tokenizer=TokenizerRecord.from_dict(token_ids(tokens)),
        spec=plan.spec.as_dict(),
        states=plan.states,
        routers=plan.routers,
        hidden=plan.hidden,
        warnings=plan.warnings,
        tensors=tuple(plan.weights.records.values()),
        files=files,
        hashes=hashes,
    )
