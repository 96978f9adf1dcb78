"""What a conversion rounds, in words."""

from collections.abc import Mapping

from converters.weights.records import Rounding


def rounding_lines(roundings: Mapping[str, Rounding]) -> list[str]:
    """One line for each kind of number, such as "Q4_K scales"; or one that says that nothing was rounded."""
    if not any(r.rounded for r in roundings.values()):
        return ["weights: exact, every one equals the GGUF's bit for bit in float32"]
    lines = []
    for kind, r in roundings.items():
        line = f"{kind}s: exact"
        if r.rounded:
            line = f"{kind}s: {r.rounded} of {r.count} rounded, at most {r.max_relative_error:.2g} relative"
        if r.flushed_to_zero or r.subnormal:
            line += f"; {r.flushed_to_zero} became zero, {r.subnormal} subnormal"
        lines.append(line)
    return lines
