"""A tiny random GGUF of any architecture that llama.cpp knows, and its proof: our logits against llama.cpp's."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from tests.support.llama_tensors import wanted_tensors
from tests.support.oracle import LlamaModel
from tests.support.runner import EPSILON, F32, TOLERANCE, TOLERANCE_GELU, TinySession, export, prompt
from tests.support.tiny import Stored, Types, encode, write_file

LENGTH, STEPS, CONTEXT = 48, 16, 256
OPTIONAL = r"\.(input_)?scale$|^rope_f|^cls"  # what files of most architectures do not have
BASE: dict[str, Any] = {
    "vocab_size": 320, "context_length": 256, "embedding_length": 256, "block_count": 2, "feed_forward_length": 512,
    "attention.head_count": 4, "attention.head_count_kv": 2,
}  # fmt: skip
EPSILON_KEYS = {"rms": "attention.layer_norm_rms_epsilon", "layer": "attention.layer_norm_epsilon"}


@dataclass(frozen=True)
class Case:
    """A model: keys without the architecture's prefix on top of BASE (None leaves one out), and its tensors.

    drop: patterns of tensors to leave out, on top of OPTIONAL unless `keep` matches them. values: patterns to
    functions of (rng, shape), where the usual values would not show a mistake. plain_keys: keys without a prefix.
    fused: q, k and v as one tensor. context: that of both engines, where it matters. untold_keys and untold_tensors
    are in the file, but not in the question which tensors there must be, on which llama.cpp would end the process.
    """

    arch: str
    norm: str = "rms"
    keys: Mapping[str, Any] = field(default_factory=dict)
    drop: Sequence[str] = ()
    keep: str = "$^"
    values: Mapping[str, Any] = field(default_factory=dict)
    plain_keys: Mapping[str, Any] = field(default_factory=dict)
    untold_keys: Mapping[str, Any] = field(default_factory=dict)
    untold_tensors: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    fused: bool = False
    gelu: bool = False
    length: int = LENGTH
    context: int | None = None

    @property
    def metadata(self) -> dict[str, Any]:
        """All keys of the file."""
        found = {**BASE, EPSILON_KEYS[self.norm]: EPSILON, **self.keys}
        keys = {f"{self.arch}.{k}": v for k, v in found.items() if v is not None}
        return {**keys, **self.plain_keys, "tokenizer.ggml.model": "no_vocab"}

    @property
    def tolerance(self) -> float:
        """Largest difference of a logit."""
        return TOLERANCE_GELU if self.gelu else TOLERANCE


def write_arch(path: Path, case: Case, types: Types = "F32", seed: int = 0) -> Path:
    """Write the case's model; matrices whose rows do not fill blocks of their type stay F32."""
    untold = {f"{case.arch}.{key}": value for key, value in case.untold_keys.items()}
    tensors = {name: _stored(name, values, types) for name, values in _tensors(case, seed).items()}
    return write_file(path, case.arch, case.metadata | untold, tensors)


def _tensors(case: Case, seed: int) -> dict[str, NDArray[np.float32]]:
    made: dict[str, NDArray[np.float32]] = {}
    for name, shape in [*wanted_tensors(case.arch, case.metadata), *case.untold_tensors.items()]:
        dropped = any(re.search(pattern, name) for pattern in case.drop)
        if dropped or (re.search(OPTIONAL, name) and not re.search(case.keep, name)):
            continue
        rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
        made[name] = _values(case, name, shape, rng)
    if case.fused:
        for name in [name for name in made if ".attn_q." in name]:
            parts = [made.pop(name.replace("attn_q.", f"attn_{part}.")) for part in "qkv"]
            made[name.replace("attn_q.", "attn_qkv.")] = np.concatenate(parts)
    return made


def _stored(name: str, values: NDArray[np.float32], types: Types) -> Stored:
    matrix = values.ndim in (2, 3) and not re.search("norm|position|scales|gate_inp", name)
    kind = types if isinstance(types, str) else next(k for pattern, k in types.items() if re.search(pattern, name))
    block = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]][0]
    return encode(values, kind if matrix and values.shape[-1] % block == 0 else "F32")


def _values(case: Case, name: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float32]:
    for pattern, make in case.values.items():
        if re.search(pattern, name):
            return np.asarray(make(rng, shape), np.float32)
    if name.endswith(".bias"):
        return rng.normal(0, 0.3, shape).astype(np.float32)
    if "norm" in name or len(shape) == 1:
        # Larger behind the blocks: else a big tied embedding makes the model repeat one token.
        scale = 3.0 if "post_" in name and not (case.gelu and "ffw" in name) else 1.0
        return (scale * rng.uniform(0.5, 1.5, shape)).astype(np.float32)
    share = 0.25 if case.gelu and "ffn_down" in name else 1.0  # the table's float16 shows less
    return (share * rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)


def llama_logits(path: Path, ids: list[int], context: int) -> F32:
    """llama.cpp's logits with a context of `context` tokens, which it rounds up to a multiple of 256."""
    with LlamaModel(path, n_ctx=context) as model:
        return model.logits(ids)


def check_arch(path: Path, case: Case, targets: Sequence[str], floats: Path | None = None) -> dict[str, float]:
    """Compare the case's model on each target with one run of llama.cpp, at every position; the largest differences.

    The prompt at once, and again with its last STEPS tokens one by one. floats: the copy that llama.cpp reads instead.
    """
    ids = prompt(case.length, case.metadata[f"{case.arch}.vocab_size"])
    wanted = llama_logits(floats or path, ids, case.context or CONTEXT)
    assert wanted.std() > 0.1
    found = {}
    for ep in targets:
        _, session = export(path, path.with_suffix(f".{ep}"), ep=ep, accuracy_level=0, context_length=case.context)
        found[ep] = _difference(session, ids, wanted)
    assert all(value <= case.tolerance for value in found.values()), f"{case.arch}: logits differ by {found}"
    return found


def _difference(session: TinySession, ids: list[int], wanted: F32) -> float:
    cut = [len(ids) - STEPS, *[1] * STEPS]
    # Python's max would pass over a NaN
    return float(np.max([np.abs(session.logits(ids, steps) - wanted) for steps in (None, cut)]))
