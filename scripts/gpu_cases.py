#!/usr/bin/env python3
"""Prove architectures on a machine with a GPU and no llama.cpp: tiny models, and the logits that it gave elsewhere.

usage: python scripts/gpu_cases.py write DIR CASE ...     where llama.cpp is: models and logits
       python scripts/gpu_cases.py check DIR              where the GPU is: every model there, on CUDA

CASE is a name of tests/support/arch_cases, such as "qwen35: usual". Each model is converted with --ep cuda (float16 and
bfloat16, where that can be) and for any runtime (float32), and run as a prompt at once, in two passes, as a pass and
single tokens, which a CUDA graph replays; then again. The numbers are root mean squares of the difference, in
deviations of llama.cpp's logits: about 0.003 in float16, 0.02 in bfloat16; above 0.02 and 0.1 it fails.
"""

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
LENGTH, PASS = 60, 37
WAYS = {  # arguments of convert, and the most that is right
    "cuda f16": (["--ep", "cuda"], 0.02),
    "cuda bf16": (["--ep", "cuda", "--dtype", "bf16"], 0.1),
    "onnx f32": ([], 0.02),  # whose products are TF32 there
}


def write(folder: Path, names: list[str]) -> None:
    from tests.support.any_arch import CONTEXT, llama_logits, write_arch
    from tests.support.arch_cases import all_cases
    from tests.support.runner import prompt

    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names):
        case = all_cases()[name]
        path = write_arch(folder / f"{number}.gguf", case)
        ids = prompt(LENGTH, case.metadata[f"{case.arch}.vocab_size"])
        np.savez(path.with_suffix(".npz"), name=name, ids=ids, logits=llama_logits(path, ids, CONTEXT))


def check(folder: Path) -> int:
    from typer.testing import CliRunner

    from mobius_cli.app import app
    from mobius_cli.runtime.session import OnnxModel

    failed = 0
    for path in sorted(folder.glob("*.gguf")):
        with np.load(path.with_suffix(".npz")) as saved:
            name, ids, wanted = str(saved["name"]), saved["ids"].tolist(), saved["logits"]
        for way, (options, most) in WAYS.items():
            out = path.with_suffix("." + way.replace(" ", "_"))
            done = CliRunner().invoke(app, ["convert", str(path), "-o", str(out), "--force", *options])
            if done.exit_code:
                print(f"{name}, {way}: {done.stderr.strip().splitlines()[0]}", flush=True)
                continue
            try:
                found = distances(OnnxModel(out, ep="cuda"), ids, wanted)
            except Exception as error:  # onnxruntime raises a dozen unrelated classes
                found = {str(error).splitlines()[0][:200]: np.inf}
            bad = max(found.values()) > most
            failed += bad
            print(f"{name}, {way}:", *(f"{k} {v:.1e}" for k, v in found.items()), "FAILED" * bad, flush=True)
    return int(failed > 0)


def distances(model: "OnnxModel", ids: list[int], wanted: np.ndarray) -> dict[str, float]:  # type: ignore[name-defined, type-arg]  # noqa: F821
    """Of every way to feed the text."""

    def apart(rows: list[np.ndarray], first: int = 0) -> float:  # type: ignore[type-arg]
        found, truth = np.concatenate(rows), wanted[first:]
        distance = float(np.sqrt(np.square(found - truth).mean()) / truth.std())
        return distance if np.isfinite(distance) else np.inf

    whole = model.start(LENGTH).run(ids)
    decoding = model.start(LENGTH)
    passes = [decoding.run(ids[:PASS]), decoding.run(ids[PASS:])]
    decoding = model.start(LENGTH)
    steps = [decoding.run(ids[:PASS])]
    decoding.mark()
    steps += [decoding.run([token]).copy() for token in ids[PASS:]]
    decoding.rewind(PASS)
    again = [decoding.run([token]).copy() for token in ids[PASS:]]
    return {"at once": apart([whole]), "passes": apart(passes), "steps": apart(steps), "again": apart(again, PASS)}


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("write", "check"):
        sys.exit(__doc__)
    if sys.argv[1] == "check":
        sys.exit(check(Path(sys.argv[2])))
    write(Path(sys.argv[2]), sys.argv[3:])
