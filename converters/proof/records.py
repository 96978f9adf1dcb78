"""What a folder's manifest says, beside what its source and this version of mobius make of it."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from converters.folder.manifest import Manifest
from converters.folder.metadata import kept_metadata, plain_metadata
from converters.plan import Plan
from converters.proof.difference import Findings
from converters.proof.paths import first_path
from converters.weights.records import TensorRecord

_MEASURED = ("roundings", "exact")  # of a tensor: known once its numbers were compared


def check_records(manifest: Manifest, plan: Plan, findings: Findings) -> None:
    """Where every tensor stands: what the numbers are read by."""
    stored, wanted = _by_name(manifest.tensors), _by_name(plan.weights.records.values())
    for name in {**wanted, **stored}:
        if found := first_path(stored.get(name), wanted.get(name), name):
            findings.add("weights", "mobius.json", found)


def check_manifest(manifest: Manifest, plan: Plan, findings: Findings) -> None:
    """All else that it says of the model."""
    stored = {
        "metadata": plain_metadata(manifest.metadata), "spec": manifest.spec, "hidden": manifest.hidden,
        "states": [state.as_dict() for state in manifest.states],
        "routers": [router.as_dict() for router in manifest.routers],
        "norms_heads": manifest.target.norms_heads, "oldest_runtime": manifest.target.oldest_runtime,
    }  # fmt: skip
    wanted = {
        "metadata": plain_metadata(kept_metadata(plan.source.metadata)), "spec": plan.spec.as_dict(),
        "hidden": plan.hidden, "states": [state.as_dict() for state in plan.states],
        "routers": [router.as_dict() for router in plan.routers],
        "norms_heads": plan.norms_heads, "oldest_runtime": plan.oldest_runtime,
    }  # fmt: skip
    if found := first_path(_plain(stored), _plain(wanted)):
        findings.add("files", "mobius.json", found)


def _by_name(records: Any) -> dict[str, Mapping[str, Any]]:
    return {record.name: _plain(_placed(record)) for record in records}


def _placed(record: TensorRecord) -> dict[str, Any]:
    return {key: value for key, value in asdict(record).items() if key not in _MEASURED}


def _plain(value: Any) -> Any:
    """As JSON gives it back."""
    return json.loads(json.dumps(value))
