"""A model folder proved by its source: its weights first, then all else; no session and no other engine is needed."""

from pathlib import Path

from converters.folder.manifest import Manifest
from converters.proof.difference import Findings
from converters.proof.graph import check_graph
from converters.proof.rebuild import is_of_this_version, plan_again
from converters.proof.records import check_manifest, check_records
from converters.proof.texts import check_texts
from converters.proof.weights import OnTensor, WeightsProof
from converters.sources.onnx_folder.folder import OnnxFolder
from converters.sources.source import Source
from converters.version import PRODUCER, tool_version


def prove(
    source: Source, folder: Path, manifest: Manifest, on_tensor: OnTensor, *, weights_only: bool = False
) -> Findings:
    """Compare a folder with its source, a tensor at a time.

    Args:
        source: what the folder was made from.
        folder: the folder.
        manifest: its own.
        on_tensor: told of every tensor that was compared, and its bytes in the source.
        weights_only: stop behind the weights.

    Raises:
        InputError: the graph cannot be read.
        MobiusError: this version cannot convert the source as the folder was.
    """
    findings, plan, ours = Findings(), plan_again(source, manifest), is_of_this_version(manifest)
    if ours:
        check_records(manifest, plan, findings)
    stored = OnnxFolder.read(folder, manifest)
    proof = WeightsProof(source, stored, plan.weights.orders, manifest.target.dtype, findings)
    proof.check(manifest.tensors, on_tensor)
    if weights_only:
        return findings
    if not ours:
        wrote = f"{manifest.tool.name} {manifest.tool.version}"
        findings.notes.append(
            f"graph and configurations were not compared: {wrote} wrote the folder, this is {PRODUCER} {tool_version()}"
        )
        return findings
    check_graph(folder / manifest.graph, plan, stored.arrays, findings)
    check_manifest(manifest, plan, findings)
    check_texts(folder, manifest, plan, findings)
    return findings
