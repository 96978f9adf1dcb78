"""Rotary embeddings as llama.cpp reads them from a file."""

import numpy as np

from converters.archs.hparams import Hparams
from converters.spec import ContextFactors, LinearScaling, Rope, YarnScaling
from repack.errors import MobiusError

YARN_KEYS = tuple(
    f"rope.scaling.yarn_{name}" for name in ("ext_factor", "attn_factor", "log_multiplier", "beta_fast", "beta_slow")
)
Scaling = LinearScaling | YarnScaling | None


def rope(
    h: Hparams,
    dim: int,
    *,
    interleaved: bool = False,
    partial: bool = False,
    freqs: bool = False,
    long_factors: bool = False,
    yarn_keys: bool = False,
) -> Rope:
    """The rotary embedding of heads of `dim` channels.

    `partial`: the architecture may turn a part of each head. `freqs`: it honours rope_freqs; `long_factors`:
    rope_factors_long and _short. `yarn_keys`: it reads YaRN's fine tuning from the file.

    Raises:
        MobiusError: keys contradict each other, or ask for a scaling that llama.cpp does not know here.
    """
    turned = h.positive("rope.dimension_count", dim)
    if turned > dim or turned % 2 or (turned != dim and not partial):  # llama.cpp stops here too
        raise MobiusError(
            f"rope.dimension_count {turned} differs from the head's {dim} channels",
            "this architecture turns whole heads; the metadata is damaged or unusual",
        )
    return Rope(
        theta=h.number("rope.freq_base", 10000.0),
        dim=turned,
        interleaved=interleaved and not h.source.half_split,
        scaling=_scaling(h, long_factors, yarn_keys),
        factors=_factors(h, freqs, long_factors),
        magnitude=h.number("rope.scaling.attn_factor", 1.0),
    )


def _original_context(h: Hparams) -> int:
    return h.positive("rope.scaling.original_context_length", h.positive("context_length"))


def _factors(h: Hparams, freqs: bool, long_factors: bool) -> str | ContextFactors | None:
    """rope_freqs wins; else both tensors of LongRoPE, of which one file must not lack one."""
    if freqs and h.has_tensor("rope_freqs.weight"):
        return "rope_freqs.weight"
    names = ("rope_factors_long.weight", "rope_factors_short.weight")
    found = [name for name in names if h.has_tensor(name)]
    if not long_factors or not found:
        if h.text("rope.scaling.type", "linear") == "longrope":
            raise MobiusError("rope.scaling.type is longrope, but the file has no rope_factors_long or _short tensors",
                              "it is incomplete, or longrope is not supported for this architecture")  # fmt: skip
        return None
    if len(found) == 1:
        raise MobiusError(f"the file has {found[0]} but not the other one of {' and '.join(names)}", "it is incomplete")
    return ContextFactors(*names, _original_context(h))


def _scaling(h: Hparams, long_factors: bool, yarn_keys: bool) -> Scaling:
    kind = h.text("rope.scaling.type", "linear")
    factor = h.number("rope.scaling.factor", h.number("rope.scale_linear", 0.0))
    original = _original_context(h)
    h.ignore(*YARN_KEYS)
    if kind == "none" or (kind in ("linear", "longrope") and factor in (0.0, 1.0)):
        return None
    if factor <= 0:
        raise MobiusError(
            f"rope.scaling.type is {kind} but rope.scaling.factor is {factor:g}",
            "the file does not say how far positions are stretched",
        )
    if kind == "linear" or (kind == "longrope" and long_factors):
        return LinearScaling(factor)
    if kind == "yarn":
        return YarnScaling(factor, original, **(_fine_tuning(h) if yarn_keys else {}))
    raise MobiusError(f"rope.scaling.type {kind!r} is not supported", "supported: none, linear, yarn")


def _fine_tuning(h: Hparams) -> dict[str, float]:
    return {
        "beta_fast": h.number("rope.scaling.yarn_beta_fast", 32.0),
        "beta_slow": h.number("rope.scaling.yarn_beta_slow", 1.0),
        "log_multiplier": h.number("rope.scaling.yarn_log_multiplier", 0.0),
    }


def check_sections(h: Hparams, pairs: int) -> None:
    """Check rope.dimension_sections, which says of each pair whether it turns by time, height or width.

    All three are the position in a text, so the sections change nothing there, unless pairs are left that turn by none.

    Raises:
        MobiusError: such pairs are left.
    """
    if still_pairs(h, pairs):
        raise MobiusError(
            f"{h.architecture}.rope.dimension_sections leaves some of {pairs} pairs unturned",
            "the metadata is damaged or unusual",
        )


def still_pairs(h: Hparams, pairs: int) -> tuple[int, ...]:
    """Pairs that rope.dimension_sections leaves to nothing: they do not turn in a text.

    Raises:
        MobiusError: the file has no sections.
    """
    given = h.raw("rope.dimension_sections")
    sizes = [int(size) for size in given][:3] if isinstance(given, (list, np.ndarray)) else []
    whole = sum(int(size) for size in given) if len(sizes) == 3 else 0
    if whole < 1:
        raise MobiusError(
            f"{h.architecture}.rope.dimension_sections is {given}, not the sizes of three sections",
            "the metadata is damaged or unusual",
        )
    # as llama.cpp deals them out: time, height, width, time, ... as far as each one's size goes
    return tuple(pair for pair in range(pairs) if pair % whole >= 3 * sizes[pair % whole % 3])
