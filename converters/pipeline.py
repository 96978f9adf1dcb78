"""The conversion itself: a plan becomes a folder."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from converters.folder import configs as genai
from converters.folder.metadata import kept_metadata
from converters.folder.writer import DATA, MANIFEST, MODEL, OnTensor, files_in, new_folder, write_json
from converters.origin import origins, recall_roundings, tokenizer_of
from converters.plan import Plan
from converters.tokenizer.export import TokenizerFiles
from converters.tokenizer.stored import token_ids, write_tokenizer
from converters.weights.records import Rounding, sum_roundings

PRODUCER = "mobius-cli"


@dataclass(frozen=True)
class Result:
    """A finished folder and what is worth saying about it."""

    folder: Path
    files: dict[str, int]  # name -> bytes
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
        return self.files[MODEL] + self.files[DATA]


def tool_version() -> str:
    """Version of this tool, or "unknown" when it runs uninstalled."""
    try:
        return version(PRODUCER)
    except PackageNotFoundError:
        return "unknown"


def convert(plan: Plan, destination: Path, *, force: bool = False, on_tensor: OnTensor | None = None) -> Result:
    """Write the model folder.

    Raises:
        MobiusError: something in the weights or the tokenizer cannot be kept, or the disk is full.
    """
    with new_folder(destination, force, plan.data_bytes) as work, ThreadPoolExecutor(1) as pool:
        hashing = pool.submit(origins, plan.source)
        tokens = tokenizer_of(plan.source)
        write_tokenizer(work, tokens)
        write_json(work / "genai_config.json", genai.genai_config(plan, tokens))
        write_json(work / "config.json", genai.hugging_face_config(plan, tokens))
        write_json(work / "generation_config.json", genai.generation_config(tokens))
        parts = hashing.result()
        _write_model(plan, work, parts[0]["sha256"], on_tensor)
        recall_roundings(plan)
        files = {path.relative_to(work).as_posix(): path.stat().st_size for path in files_in(work)}
        write_json(work / MANIFEST, _manifest(plan, parts, tokens, files))
        files[MANIFEST] = (work / MANIFEST).stat().st_size
    return Result(
        destination,
        files,
        plan.source.size,
        sum_roundings(plan.weights.records.values()),
        (*plan.warnings, *tokens.warnings),
    )


def _write_model(plan: Plan, work: Path, sha256: str, on_tensor: OnTensor | None) -> None:
    from converters.graph.onnx_file import write_graph

    metadata = plan.source.metadata
    properties = {
        "converted_from": f"GGUF {plan.source.path.name}",
        "gguf_sha256": sha256,
        "architecture": plan.spec.architecture,
        "target": f"{plan.target.name} {plan.target.dtype} {plan.target.storage}",
    }
    for key in ("license", "author", "name"):
        if isinstance(value := metadata.get(f"general.{key}"), str):
            properties[key] = value
    write_graph(plan.graph, work, properties, (PRODUCER, tool_version()), on_tensor)


def _manifest(plan: Plan, parts: list[dict[str, Any]], tokens: TokenizerFiles, files: dict[str, int]) -> dict[str, Any]:
    names = ("gguf", "numpy", "onnx", "onnx-ir")
    return {
        "format": 1,
        "tool": {"name": PRODUCER, "version": tool_version(), "packages": {n: version(n) for n in names}},
        "source": parts,
        "target": {
            "name": plan.target.name,
            "dtype": plan.target.dtype,
            "storage": plan.target.storage,
            "accuracy_level": plan.target.accuracy_level,
            "dequantize": plan.target.dequantize,
            "quant_format": plan.target.quant_format,
            "context_length": plan.context_length,
        },
        "metadata": kept_metadata(plan.source.metadata),
        "tokenizer": token_ids(tokens),
        "spec": plan.spec.as_dict(),
        "warnings": list(plan.warnings),
        "tensors": [r.as_dict() for r in plan.weights.records.values()],
        "files": files,
    }
