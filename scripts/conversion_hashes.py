#!/usr/bin/env python3
"""Show that a change of the code changes no converted folder: every byte of every file but mobius.json.

usage: python scripts/conversion_hashes.py models DIR               write tiny models of every kind that the tests know
       python scripts/conversion_hashes.py hash OUT.json GGUF ...   convert each file in every way, hash what comes out
       python scripts/conversion_hashes.py compare BEFORE.json AFTER.json

Run `models` once, then `hash` with the code before and after the change. A refusal counts as what comes out too.
"""

import hashlib
import json
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
MANIFEST = "mobius.json"
WORKERS = 2
FEW_WAYS = ("", "--ep cpu", "--ep cuda", "--ep cpu --storage small")  # of all models but the first of each kind
FLOAT_WAYS = ("", "--dtype f16", "--ep cpu", "--ep cpu --dtype f16", "--ep cuda", "--ep cuda --dtype bf16")
WAYS = (
    *FLOAT_WAYS, "--dequantize", "--ep cpu --storage small", "--ep cpu --dtype f16 --storage small",
    "--ep cpu --dequantize", "--ep cpu --quant-format qdq", "--ep cuda --storage small", "--ep cuda --quant-format qdq",
    "--ep cuda --dequantize", "--ep cpu --accuracy-level 0",
)  # fmt: skip
REWRITES = {"": "--ep cpu", "--ep cpu": ""}  # a folder of the first kind, converted to the second


def write_models(folder: Path) -> None:
    """Each case of each architecture as F32 and Q4_K, and a llama in each type."""
    from repack.registry import FLOAT_TYPES, QUANT_TYPES
    from tests.converters.archs.test_archs import CASES, MIXED
    from tests.support.any_arch import write_arch
    from tests.support.arch_cases import all_cases
    from tests.support.tiny import write_tiny

    folder.mkdir(parents=True, exist_ok=True)
    for name, case in all_cases().items():
        stem = name.replace(":", "").replace(" ", "_").replace("/", "_")
        for kind in ("F32", "Q4_K"):
            write_arch(folder / f"{stem}.{kind}.gguf", case, kind)
    for name, (arch, options) in CASES.items():
        for label, more in (("F32", {}), ("mixed", {"types": MIXED, "tokenizer": "bpe"})):
            write_tiny(folder / f"tiny_{name.replace(' ', '_')}.{label}.gguf", arch, **{**options, **more})
    for kind in [*FLOAT_TYPES, *QUANT_TYPES]:
        try:
            write_tiny(folder / f"type_llama.{kind}.gguf", "llama", types={"norm": "F32", ".": kind})
        except Exception as error:  # no encoder for it
            print(f"{kind}: not written: {error}")


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file but the manifest."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def converted(source: Path, destination: Path, way: str) -> dict[str, object]:
    """What comes out of one conversion."""
    from typer.testing import CliRunner

    from mobius_cli.app import app

    done = CliRunner().invoke(app, ["convert", str(source), "-o", str(destination), *way.split()])
    words = done.stderr.replace(str(source.parent), "DIR").replace(str(destination.parent), "OUT")
    return {"exit": done.exit_code, "words": words, "files": digests(destination) if done.exit_code == 0 else {}}


def hash_model(path: Path, every: bool) -> dict[str, dict[str, object]]:
    """One file in all or in few ways."""
    found = {}
    ways = FLOAT_WAYS if path.name.endswith(".F32.gguf") else WAYS
    with tempfile.TemporaryDirectory() as work:
        for way in ways if every else [way for way in ways if way in FEW_WAYS]:
            folder = Path(work) / f"way{len(found)}"
            found[f"{path.name} {way}"] = converted(path, folder, way)
            if folder.exists() and way in REWRITES:
                again = f"{REWRITES[way]}"
                found[f"{path.name} {way} then {again}"] = converted(folder, Path(work) / f"{folder.name}b", again)
    return found


def hash_all(out: Path, models: list[Path]) -> None:
    found: dict[str, dict[str, object]] = {}
    start = time.monotonic()
    kinds = [(path.name.split("_")[0], path.suffixes[-2:]) for path in models]
    every = [kind[0] in ("tiny", "type") or kinds.index(kind) == i for i, kind in enumerate(kinds)]
    with ProcessPoolExecutor(WORKERS) as pool:
        for count, part in enumerate(pool.map(hash_model, models, every), 1):
            found |= part
            if count % 100 == 0:
                print(f"{count} of {len(models)} models, {time.monotonic() - start:.0f} s", flush=True)
    out.write_text(json.dumps(found, indent=1, sort_keys=True), encoding="utf-8")
    refused = sum(entry["exit"] != 0 for entry in found.values())
    print(f"{len(models)} models, {len(found)} conversions, {refused} refused, {time.monotonic() - start:.0f} s")


def compare(before: Path, after: Path) -> bool:
    """Print what differs; returns whether all files are equal."""
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (before, after))
    files = differing = words = 0
    for name in sorted(set(old) | set(new)):
        one, other = old.get(name), new.get(name)
        if one is None or other is None:
            print(f"{name}: only {'after' if one is None else 'before'}")
            differing += 1
            continue
        files += len(one["files"])
        changed = sorted(f for f in {*one["files"], *other["files"]} if one["files"].get(f) != other["files"].get(f))
        if changed or one["exit"] != other["exit"]:
            print(f"{name}: exit {one['exit']}, {other['exit']}; {', '.join(changed)} {other['words'][:160]}")
            differing += 1
        elif one["words"] != other["words"]:
            words += 1
            if words <= 5:
                print(f"{name}: other words:\n  before {one['words']!r}\n  after  {other['words']!r}")
    print(
        f"{len(old)} conversions before, {len(new)} after, {files} files: {differing} differ, {words} say other words"
    )
    return differing == 0


def main() -> None:
    match sys.argv[1:]:
        case ["models", folder]:
            write_models(Path(folder))
        case ["hash", out, *models] if models:
            hash_all(Path(out), [Path(model) for model in models])
        case ["compare", before, after]:
            sys.exit(0 if compare(Path(before), Path(after)) else 1)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
