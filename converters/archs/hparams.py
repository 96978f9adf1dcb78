"""Hyper-parameters of a GGUF file, read with their reasons: every key is honoured, harmless, or refused."""

from functools import cache
from typing import Any

import numpy as np

from converters.sources.source import Source
from repack.errors import MobiusError

# Keys that few architectures read: llama.cpp leaves them alone for all others, though their files may have them.
IGNORED = ("attention.sliding_window", "attention.sliding_window_pattern", "attention.scale")
# Keys that do not change what a decoder computes, and keys that say "off" by these values.
HARMLESS = {"vocab_size", "rope.scaling.finetuned", "tensor_data_layout"}
# What numbers may be, ends included: outside, tables and norms have no finite numbers, or nobody has such a model.
EPSILON, LARGE = (0.0, 1.0), 1e15
RANGES = {
    "attention.layer_norm_rms_epsilon": EPSILON, "attention.layer_norm_epsilon": EPSILON,
    "attention.group_norm_epsilon": EPSILON, "rope.freq_base": (1.001, LARGE), "rope.freq_base_swa": (1.001, LARGE),
    "rope.scaling.factor": (0.0, 1e6), "rope.scaling.attn_factor": (1e-6, 1e6),
    "rope.scaling.yarn_beta_fast": (1e-6, 1e6), "rope.scaling.yarn_beta_slow": (1e-6, 1e6),
    "embedding_scale": (-LARGE, LARGE), "residual_scale": (-LARGE, LARGE), "logit_scale": (-LARGE, LARGE),
    "attention.scale": (-LARGE, LARGE), "attn_logit_softcapping": (0.0, LARGE),
    "final_logit_softcapping": (0.0, LARGE),
}  # fmt: skip
NEUTRAL: dict[str, Any] = {
    "attention.causal": True,
    "expert_count": 0,
    "expert_used_count": 0,
    "attention.max_alibi_bias": 0.0,
    "attention.clamp_kqv": 0.0,
    "use_parallel_residual": False,
    "pooling_type": 0,
}


class Hparams:
    """The `ARCH.*` keys of one file; remembers which were read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.architecture = str(source.metadata["general.architecture"])
        self._read: set[str] = set()
        self._ignored = set(IGNORED)
        self._check_blocks()

    def _check_blocks(self) -> None:
        """Refuse a number of layers that there are no tensors of, before anything is made for each.

        Raises:
            MobiusError: it is so.
        """
        numbers = (name.split(".", 2)[1] for name in self.source.tensors if name.startswith("blk."))
        have = 1 + max((int(number) for number in numbers if number.isdecimal() and len(number) < 10), default=-1)
        said = self.source.metadata.get(f"{self.architecture}.block_count")
        if isinstance(said, int) and said > have:
            raise MobiusError(
                f"{self.architecture}.block_count is {said}, but the file has tensors of {have} layers",
                "it is incomplete or damaged: download it again",
            )

    def has_tensor(self, name: str) -> bool:
        """Whether the file holds a tensor."""
        return name in self.source.tensors

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number; a per-layer array counts as one number when all entries are equal."""
        value = self._get(key, default)
        if isinstance(value, np.ndarray) and value.size and (value == value[0]).all():
            value = value[0].item()
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(key, value, "one whole number")
        return value

    def at(self, key: str, layer: int, default: int | None = None) -> int:
        """A whole number that may differ from layer to layer."""
        value = self._get(key, default)
        if isinstance(value, np.ndarray) and value.ndim == 1 and value.size == self.positive("block_count"):
            value = value[layer].item()
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(key, value, "one whole number, or one for each layer")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A finite number."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
            raise self._wrong(key, value, "a finite number")
        low, high = RANGES.get(key, (-np.inf, np.inf))
        if not low <= value <= high:
            raise self._wrong(key, value, f"a number from {low:g} to {high:g}")
        return float(value)

    def text(self, key: str, default: str | None = None) -> str:
        """A string."""
        value = self._get(key, default)
        if not isinstance(value, str):
            raise self._wrong(key, value, "a string")
        return value

    def positive(self, key: str, default: int | None = None) -> int:
        """A whole number of at least 1 and below 2**31."""
        value = self.integer(key, default)
        if not 1 <= value < 2**31:
            raise self._wrong(key, value, "a number of at least 1")
        return value

    def flag(self, key: str, default: bool | None = None) -> bool:
        """A boolean."""
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, value, "true or false")
        return value

    def raw(self, key: str) -> Any:
        """The value as it is, or None."""
        self._read.add(key)
        return self.source.metadata.get(f"{self.architecture}.{key}")

    def ignore(self, *keys: str) -> None:
        """Keys that llama.cpp does not read for this architecture, though it does for others: a warning each."""
        self._ignored.update(keys)

    def check_all_read(self) -> list[str]:
        """Refuse keys that would change the computation and were not read; return warnings for unknown ones."""
        prefix, warnings = f"{self.architecture}.", []
        for full in self.source.metadata:
            key = full.removeprefix(prefix)
            if key == full or key in self._read or key in HARMLESS:
                continue
            value = self.source.metadata[full]
            if key in NEUTRAL and NEUTRAL[key] == value:
                continue
            shown = str(value)[:40]
            if key in self._ignored:
                warnings.append(f"{full} = {shown} is ignored, as llama.cpp does for this architecture")
                continue
            if key not in _known_keys():
                warnings.append(f"unknown key {full} = {shown} is ignored (llama.cpp does not know it either)")
                continue
            raise MobiusError(
                f"{full} = {shown} is not supported for this architecture, and ignoring it could change the output",
                "report the model to the project",
            )
        return warnings

    def _get(self, key: str, default: Any) -> Any:
        self._read.add(key)
        value = self.source.metadata.get(f"{self.architecture}.{key}", default)
        if value is None:
            raise MobiusError(f"the file has no key {self.architecture}.{key}", "it is incomplete or of another tool")
        return value

    def _wrong(self, key: str, value: Any, wanted: str) -> MobiusError:
        shown = str(value)[:60]
        return MobiusError(f"{self.architecture}.{key} is {shown}, not {wanted}", "the metadata is damaged or unusual")


@cache
def _known_keys() -> set[str]:
    """Every `{arch}.*` key that the `gguf` package (llama.cpp's own writer) has a constant for."""
    from gguf.constants import Keys

    found = set()
    for group in vars(Keys).values():
        for template in vars(group).values() if isinstance(group, type) else ():
            if isinstance(template, str) and template.startswith("{arch}."):
                found.add(template.removeprefix("{arch}."))
    return found
