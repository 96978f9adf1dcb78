"""The files beside a folder's graph, beside those that its source makes."""

import json
import tempfile
from pathlib import Path

from converters.folder.manifest import Manifest
from converters.folder.seal import CARD
from converters.folder.tokenizer_record import TokenizerRecord
from converters.folder.writer import files_in
from converters.pipeline import write_texts
from converters.plan import Plan
from converters.proof.difference import Findings
from converters.proof.paths import first_path
from converters.tokenizer.stored import token_ids


def check_texts(folder: Path, manifest: Manifest, plan: Plan, findings: Findings) -> None:
    """Compare all but the model card, which people may change.

    Raises:
        MobiusError: the source's tokenizer cannot be made.
    """
    tokens = plan.source.tokenizer()
    stored, wanted = manifest.tokenizer.as_dict(), TokenizerRecord.from_dict(token_ids(tokens)).as_dict()
    if found := first_path(stored, wanted, "tokenizer"):
        findings.add("files", "mobius.json", found)
    with tempfile.TemporaryDirectory(prefix="mobius-texts-") as made:
        work = Path(made)
        write_texts(plan, tokens, work)
        made_of_it = {path.relative_to(work).as_posix() for path in files_in(work)}
        left = manifest.files.keys() - {CARD, plan.files.model, plan.files.data}
        for name in sorted(made_of_it | left):
            if name not in left or name not in made_of_it:
                findings.add("files", name, "is missing" if name in made_of_it else "is none that the source makes")
            elif found := _difference((folder / name).read_bytes(), (work / name).read_bytes(), name):
                findings.add("files", name, found)
            findings.files += 1


def _difference(stored: bytes, wanted: bytes, name: str) -> str | None:
    if stored == wanted:
        return None
    if name.endswith(".json"):
        try:
            if found := first_path(json.loads(stored), json.loads(wanted)):
                return found
        except (ValueError, RecursionError):
            return "is no JSON"
    at = next((i for i, pair in enumerate(zip(stored, wanted, strict=False)) if pair[0] != pair[1]), len(wanted))
    return f"is not what the source makes, from byte {at:,} on"
