"""`mobius verify` of float16 folders: how much of their distance from llama.cpp is float16's own rounding.

A reference written beside a float32 folder also holds what that graph says with float activations. A float16 folder
verified by it is measured against that, with float activations too: 8-bit ones add 10 to 20 times its noise.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from converters.folder.manifest import Manifest
from converters.target import TARGETS
from mobius_cli.commands.verify.passes import score_prompts
from mobius_cli.judging.measure import Ours
from mobius_cli.judging.reference import Reference
from mobius_cli.output import Output

FLOATS = 0  # accuracy level of MatMulNBits: float activations
_LABEL = "ONNX Runtime once more, float activations, for float16's noise"


def wants_floats(manifest: Manifest, reference: Reference, writes: bool) -> bool:
    """Whether a pass with float activations is needed: `writes` a float32 reference, or a float16 folder has one."""
    dtype = manifest.target.dtype
    stores = writes and dtype == "float32" and bool(reference.prompts)
    return stores or (dtype == "float16" and any(p.float32_logprobs is not None for p in reference.prompts))


def judged_floats(manifest: Manifest, ep: str | None, exact: bool) -> bool:
    """Whether the pass that was judged had float activations already; `ep` is what the user asked for."""
    own = manifest.target
    if own.dtype == "float32" and ep not in (None, own.name):
        return False  # float32 products are rounded to TF32 on a GPU
    return exact or FLOATS in (own.accuracy_level, TARGETS[ep or own.name].accuracy_level)


def score_floats(
    folder: Path, manifest: Manifest, reference: Reference, ep: str | None, threads: int, output: Output
) -> list[Ours | None]:
    """Our side of each prompt's candidates in one more pass, with float activations: float32 on the folder's target.

    Raises:
        InputError: ONNX Runtime cannot load the folder.
        MobiusError: the execution provider is not installed, or a prompt does not fit the model's context.
    """
    from mobius_cli.runtime.session import OnnxModel

    place = None if manifest.target.dtype == "float32" else ep
    model = OnnxModel(folder, ep=place, threads=threads, accuracy_level=FLOATS)
    return score_prompts(model, reference.prompts, _LABEL, output)


def with_float32(reference: Reference, ours: Sequence[Ours | None]) -> Reference:
    """The reference with a float32 graph's log-probabilities of each prompt's candidates."""
    pairs = zip(reference.prompts, ours, strict=True)
    prompts = [replace(p, float32_logprobs=None if side is None else side.logprobs) for p, side in pairs]
    return replace(reference, prompts=prompts)
