#!/usr/bin/env python3
"""Prove architectures on a machine with a GPU and no llama.cpp: tiny models, and the logits that it gave elsewhere.

usage: python scripts/gpu_cases.py write DIR CASE ...     where llama.cpp is: models and logits
       python scripts/gpu_cases.py check DIR              where the GPU is: every model there, on CUDA

CASE is a name of tests/support/arch_cases, such as "qwen35: usual", or "checkpoint: " and one of tests/support/int4,
such as "checkpoint: awq": a Hugging Face folder of a llama. Behind the former may stand @ and a quantized type, then
# and a number of tokens, such as "gpt-oss: 64 heads@MXFP4#700": kernels take other ways where texts are long. Each
model is converted with --ep cuda (float16 and bfloat16, where that can be) and for any runtime (float32), and run as
a prompt at once, in two passes, in short ones behind a long one, as a pass and single tokens, which a CUDA graph
replays; then again. The numbers are root mean squares of the difference, in deviations of llama.cpp's logits: about
0.003 in float16, 0.02 in bfloat16; above 0.02 and 0.1 it fails. Of a mixture of experts the loudest tenth of the
positions is left out and stands in brackets, as rounding makes a few choices of experts otherwise there.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
LENGTH, SHORT = 60, (1, 3, 16)  # tokens; of the passes behind the first
WAYS = {  # arguments of convert, and the most that is right
    "cuda f16": (["--ep", "cuda"], 0.02),
    "cuda bf16": (["--ep", "cuda", "--dtype", "bf16"], 0.1),
    "onnx f32": ([], 0.02),  # whose products are TF32 there
}


def write(folder: Path, names: list[str]) -> None:
    from tests.support.any_arch import CONTEXT, llama_logits, write_arch
    from tests.support.arch_cases import all_cases
    from tests.support.f32 import dequantized_copy
    from tests.support.runner import prompt

    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names):
        if name.startswith("checkpoint: "):
            write_checkpoint(folder / str(number), name)
            continue
        stem, _, length = name.partition("#")
        stem, _, kind = stem.partition("@")
        case, tokens = all_cases()[stem], int(length or LENGTH)
        case = replace(case, keys={**case.keys, "context_length": max(CONTEXT, tokens)})
        path = write_arch(folder / f"{number}.gguf", case, kind or "F32")
        ids = prompt(tokens, case.metadata[f"{case.arch}.vocab_size"])
        floats = dequantized_copy(path, folder / "floats") if kind else path
        logits = llama_logits(floats, ids, max(CONTEXT, tokens))
        np.savez(path.with_suffix(".npz"), name=name, ids=ids, logits=logits)
    (folder / "floats").unlink(missing_ok=True)


def write_checkpoint(folder: Path, name: str) -> None:
    """A folder, and llama.cpp's logits of the same weights as floats."""
    from tests.converters.sources.checkpoint.test_integers import model
    from tests.support import checkpoint as tiny
    from tests.support.any_arch import llama_logits
    from tests.support.int4 import FORMS
    from tests.support.runner import prompt

    form, ids = FORMS[name.removeprefix("checkpoint: ")], prompt(LENGTH, tiny.VOCAB)
    config, tensors, _, weights = model("llama", form)
    tiny.write_checkpoint(folder, config, tensors)
    floats = tiny.write_gguf(folder.with_name("floats"), "llama", weights)
    np.savez(folder.with_suffix(".npz"), name=name, ids=ids, logits=llama_logits(floats, ids, 256))


def check(folder: Path) -> int:
    from typer.testing import CliRunner

    from mobius_cli.app import app
    from mobius_cli.runtime.session import OnnxModel

    failed = 0
    for saved_path in sorted(folder.glob("*.npz")):
        path = next(one for one in (saved_path.with_suffix(".gguf"), saved_path.with_suffix("")) if one.exists())
        with np.load(saved_path) as saved:
            name, ids, wanted = str(saved["name"]), saved["ids"].tolist(), saved["logits"]
        for way, (options, most) in WAYS.items():
            out = saved_path.with_suffix("." + way.replace(" ", "_"))
            done = CliRunner().invoke(app, ["convert", str(path), "-o", str(out), "--force", *options])
            if done.exit_code:
                print(f"{name}, {way}: {done.stderr.strip().splitlines()[0]}", flush=True)
                continue
            try:
                found = distances(OnnxModel(out, ep="cuda"), ids, wanted)
            except Exception as error:  # onnxruntime raises a dozen unrelated classes
                found = {str(error).splitlines()[0][:200]: (np.inf, 0.0)}
            bad = max(number for number, _ in found.values()) > most
            failed += bad
            told = (f"{k} {v:.1e}" + f" ({left:.1e})" * (left > 0) for k, (v, left) in found.items())
            print(f"{name}, {way}:", *told, "FAILED" * bad, flush=True)
    return int(failed > 0)


Distance = tuple[float, float]  # of the positions that count, and of those that are left out


def distances(model: "OnnxModel", ids: list[int], wanted: np.ndarray) -> dict[str, Distance]:  # type: ignore[name-defined, type-arg]  # noqa: F821
    """Of every way to feed the text."""

    def apart(rows: list[np.ndarray], first: int = 0) -> Distance:  # type: ignore[type-arg]
        found, truth = np.concatenate(rows), wanted[first:]
        squares = np.sort(np.square(found - truth).mean(axis=1)) / truth.var()
        count = len(squares) - len(squares) // 10 if model.manifest.routers else len(squares)
        distance, left = (float(np.sqrt(part.mean())) if len(part) else 0.0 for part in np.split(squares, [count]))
        return distance if np.isfinite(squares).all() else np.inf, left

    length = len(ids)
    first = length * 37 // 60
    whole = model.start(length).run(ids)
    decoding = model.start(length)
    passes = [decoding.run(ids[:first]), decoding.run(ids[first:])]
    decoding, done, short = model.start(length), 0, []
    for size in (first, *SHORT, length):
        short.append(decoding.run(ids[done : done + size]).copy())
        done += size
    decoding = model.start(length)
    steps = [decoding.run(ids[:first])]
    decoding.mark()
    steps += [decoding.run([token]).copy() for token in ids[first:]]
    decoding.rewind(first)
    again = [decoding.run([token]).copy() for token in ids[first:]]
    rows = {"at once": [whole], "passes": passes, "short": short, "steps": steps}
    return {**{way: apart(found) for way, found in rows.items()}, "again": apart(again, first)}


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("write", "check"):
        sys.exit(__doc__)
    if sys.argv[1] == "check":
        sys.exit(check(Path(sys.argv[2])))
    write(Path(sys.argv[2]), sys.argv[3:])
