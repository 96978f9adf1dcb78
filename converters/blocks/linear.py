"""Matrix products with what the file has beside a matrix: biases and second-level scales; and one as a module."""

from collections.abc import Sequence

from converters.blocks.context import Build
from converters.blocks.module import Place, emits
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.sources.source import Order
from converters.spec import LinearMixer
from repack.errors import MobiusError

SHRINK = 2.0**-8  # what the residual stream is multiplied by where float16 would not hold it: no bit is lost


def linear(b: Build, x: Value, prefix: str, rows: int, columns: int, order: Order = None) -> Value:
    """x [..., columns] @ (`prefix`.weight [rows, columns]).T, plus `prefix`.bias where the file has one."""
    matrix = b.weights.matrix(f"{prefix}.weight", (rows, columns), order)
    y = result_scale(b, matrix.product(b.c, x), prefix)
    if f"{prefix}.bias" in b.weights:
        if ".ffn_" in prefix and f"{prefix}.scale" in b.weights:  # llama.cpp scales after this bias, or stops
            raise MobiusError(f"{prefix} has both a bias and a scale", "the order of the two is not defined")
        y = b.c.graph.op("Add", y, b.weights.vector(f"{prefix}.bias", (rows,), order))
    return y


def wide_linear(b: Build, x: Value, prefix: str, rows: int, columns: int) -> Value:
    """A product of numbers that the activation type may not hold, which are made smaller for it."""
    if b.residual_dtype == b.c.target.dtype:
        return linear(b, x, prefix, rows, columns)
    g = b.c.graph
    small = g.op("Mul", x, b.c.number("shrink", SHRINK, b.residual_dtype))
    y = b.to_residual(linear(b, b.to_activation(small), prefix, rows, columns))
    return g.op("Mul", y, b.c.number("grow", 1 / SHRINK, b.residual_dtype))


def stackable(b: Build, prefixes: Sequence[str]) -> bool:
    """Whether the matrices can be one: of one quantized type, each or none with a bias, without second-level scales."""
    scaled = any(f"{prefix}.scale" in b.weights for prefix in prefixes)
    biased = {f"{prefix}.bias" in b.weights for prefix in prefixes}
    return not scaled and len(biased) == 1 and b.weights.one_type([f"{prefix}.weight" for prefix in prefixes])


def stacked_linear(b: Build, x: Value, name: str, rows: Sequence[tuple[str, int, Order]], columns: int) -> Value:
    """x times several `stackable` matrices (prefix, rows, order) at once, plus their biases: [..., sum of rows]."""
    tensors = [(f"{prefix}.weight", count, order) for prefix, count, order in rows]
    y = b.weights.stacked(name, tensors, columns).product(b.c, x)
    if f"{rows[0][0]}.bias" not in b.weights:
        return y
    biases = [b.weights.vector(f"{prefix}.bias", (count,), order) for prefix, count, order in rows]
    return b.c.graph.op("Add", y, b.c.graph.op("Concat", *biases, axis=0))  # a session folds the constants


def saves_correction(b: Build, prefix: str) -> bool:
    """Whether products of this matrix cost a correction, so that fewer products are worth a Split or Concat."""
    layout = b.weights.kept(f"{prefix}.weight")
    return layout is not None and layout.has_offset


def result_scale(b: Build, y: Value, prefix: str) -> Value:
    """y times `prefix`.scale, the second-level scale of NVFP4 and others, where the file has one.

    The product of the matrix is scaled, not its blocks, as in llama.cpp: exact whatever the scale is.
    """
    name = f"{prefix}.scale"
    if name not in b.weights:
        return y
    return b.c.graph.op("Mul", y, b.weights.vector(name, (1,), use="multiplies the result"))


@emits(LinearMixer)
def linear_mixer(b: Build, x: Value, module: LinearMixer, place: Place, _: SequenceInputs) -> Value:
    """[batch, sequence, width] -> [batch, sequence, hidden]."""
    return linear(b, x, f"{place.prefix}.attn_output", b.spec.hidden, module.width)
