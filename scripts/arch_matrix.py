#!/usr/bin/env python3
"""Prove every architecture against llama.cpp, and write mobius_cli/data/archs.json, which `mobius list archs` prints.

usage: python scripts/arch_matrix.py [ARCHITECTURE ...]

Tiny random models of every variant that tests/support/arch_cases names: logits of a 48-token prompt at every position,
at once and with 16 cached steps, on targets "cpu" and "onnx" with float activations, against llama.cpp with a float32
cache.
With names, only these are run and only their entries change.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
DATA = ROOT / "mobius_cli" / "data" / "archs.json"
TARGETS = ("cpu", "onnx")


def prove(name: str) -> dict[str, float]:
    """Largest difference of a logit by target, of one case."""
    from tests.support.any_arch import check_arch, write_arch
    from tests.support.arch_cases import all_cases

    case = all_cases()[name]
    with tempfile.TemporaryDirectory() as folder:
        return check_arch(write_arch(Path(folder) / "tiny.gguf", case), case, TARGETS)


def main() -> None:
    from converters.archs.registry import architectures
    from tests.support.arch_cases import all_cases

    wanted, start = sys.argv[1:] or list(architectures()), time.monotonic()
    known: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    proofs = {arch: proof for arch, proof in known.items() if arch in architectures() and arch not in wanted}
    failed = set()
    for name, case in all_cases().items():
        if case.arch not in wanted:
            continue
        try:
            found = prove(name)
        except Exception as error:  # whatever goes wrong, the architecture is not proved
            print(f"{name}: FAILED: {error}", flush=True)
            failed.add(case.arch)
            continue
        proof = proofs.setdefault(case.arch, {"cases": 0, **dict.fromkeys(TARGETS, 0.0)})
        proof["cases"] += 1
        for target, difference in found.items():
            proof[target] = max(proof[target], float(f"{difference:.2g}"))
        print(f"{name}: " + ", ".join(f"{target} {difference:.2g}" for target, difference in found.items()), flush=True)
    proofs = {arch: proofs[arch] for arch in sorted(proofs) if arch not in failed}
    DATA.write_text(json.dumps(proofs, indent=1) + "\n", encoding="utf-8")
    missing = sorted(set(wanted) - set(proofs))
    print(f"{len(proofs)} architectures proved in {time.monotonic() - start:.0f} s; not proved: {missing or 'none'}")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
