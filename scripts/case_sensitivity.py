#!/usr/bin/env python3
"""Find test cases that stand on a knife edge: whose logits one rounding would move.

usage: python scripts/case_sensitivity.py [--seeds 8] [--match TEXT]

Processors add in different orders, so every number of a model is known only up to its last bits, and no test may
hang on these. Every float weight of every case is multiplied by 1 + 1e-7 or 1 - 1e-7, one or two units in the last
place, and llama.cpp runs both models on the case's prompt. Where a logit moves by more than 1e-3 a curve jumps, a
softmax is a coin toss, or numbers are far too large: mend the case. The exit status is then 1.

Run it after a change of tests/support/arch_cases or of CASES in tests/converters/archs/test_archs.py. One perturbation
may miss a jump: that for which this was written showed in one of three.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
MOST = 1e-3  # that a logit may move
STEP = 1e-7  # of a weight
SHOWN = 10


@dataclass(frozen=True)
class Model:
    """A case of either kind: how its file is written, and what runs on it."""

    name: str
    write: Callable[[Path], Path]
    length: int
    context: int


def models() -> Iterator[Model]:
    """Every case that tests compare with llama.cpp."""
    from tests.converters.archs.test_archs import CASES
    from tests.support.any_arch import CONTEXT, write_arch
    from tests.support.arch_cases import all_cases
    from tests.support.runner import LENGTH, write_model

    for name, case in all_cases().items():
        yield Model(name, lambda path, case=case: write_arch(path, case), case.length, case.context or CONTEXT)
    for name, (arch, options) in CASES.items():
        yield Model(name, lambda path, arch=arch, given=options: write_model(path, arch, **given), LENGTH, CONTEXT)


def perturb(path: Path, seed: int) -> None:
    """Move every weight of a file of float32 tensors, in place."""
    for tensor in gguf.GGUFReader(path, "r+").tensors:
        assert tensor.tensor_type == gguf.GGMLQuantizationType.F32
        signs = np.random.default_rng([seed, tensor.data_offset]).choice([-1.0, 1.0], tensor.data.shape)
        tensor.data[:] = tensor.data.astype(np.float64) * (1 + STEP * signs)


def largest_move(model: Model, seeds: int) -> float:
    """How far a logit moves at most."""
    from tests.support.any_arch import llama_logits
    from tests.support.f32 import dequantized_copy
    from tests.support.runner import prompt

    with tempfile.TemporaryDirectory() as folder:
        path = dequantized_copy(model.write(Path(folder) / "given.gguf"), Path(folder) / "float.gguf")
        ids = prompt(model.length, 320)
        wanted, worst = llama_logits(path, ids, model.context), 0.0
        for seed in range(seeds):
            moved = Path(shutil.copy(path, Path(folder) / "moved.gguf"))
            perturb(moved, seed)
            worst = max(worst, float(np.abs(llama_logits(moved, ids, model.context) - wanted).max()))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description="Find test cases whose logits one rounding would move.")
    parser.add_argument("--seeds", type=int, default=8, help="perturbations of each case")
    parser.add_argument("--match", default="", help="only cases whose name has this text")
    args = parser.parse_args()
    chosen = [model for model in models() if args.match in model.name]
    moves = sorted(((largest_move(model, args.seeds), model.name) for model in chosen), reverse=True)
    for move, name in moves[:SHOWN]:
        print(f"{move:9.2g}  {name}")
    above = sum(move > MOST for move, _ in moves)
    print(f"{len(moves)} cases, {above} of which move a logit by more than {MOST:g}")
    sys.exit(1 if above else 0)


if __name__ == "__main__":
    main()
