"""Grouped-query attention: projections, norms and limits of q and k, and the output projection."""

from dataclasses import replace

from converters.blocks.context import Build
from converters.blocks.head_norm import head_norm, plain_head_norm
from converters.blocks.linear import linear
from converters.blocks.module import Place, emits
from converters.blocks.norm import norm
from converters.blocks.qkv import head_order, projections
from converters.blocks.rope import rotary_tables, rotate
from converters.graph.context import Heads, OperatorHeadNorms, OperatorRope, SequenceInputs
from converters.graph.graph import Value
from converters.graph.positions import positions
from converters.spec import Attention, QueryTemperature


@emits(Attention)
def attention(b: Build, x: Value, module: Attention, place: Place, inputs: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    operator, prefix, width = b.c.operators.attention, place.prefix, module.heads * module.value_dim
    with b.c.graph.scope("attn"):
        heads = _heads(b, module, prefix)
        outside = module.rope is not None and heads.rope is None
        untouched = (module.qk_norm is None or heads.norms is not None) and module.temperature is None and not outside
        packed = untouched and not module.gated and not module.value_norm and operator.takes_packed(heads)
        q, k, v, *gate = projections(b, x, module, prefix, packed)
        if module.clip:
            q = _clip(b, q, module.clip)
            k, v = (None if part is None else _clip(b, part, module.clip) for part in (k, v))
        if not packed:
            q, k = _normed_and_rotated(b, q, k, module, heads, prefix, inputs)
        if v is not None and module.value_norm:
            v = plain_head_norm(b, v, module.kv_heads, module.value_dim)
        if module.temperature is not None:
            q = sharpen(b, q, module.temperature, inputs)
        if module.cache_of is None:
            y = operator.emit(b.c, q, k, v, heads, place.layer, inputs)
        else:
            y = operator.emit_shared(b.c, q, heads, module.cache_of, inputs)
        if module.sub_norm:
            y = norm(b, y, f"{prefix}.attn_sub_norm", width)
        for opening in gate:
            y = b.c.graph.op("Mul", y, b.c.graph.op("Sigmoid", opening))
        return linear(b, y, f"{prefix}.attn_output", b.spec.hidden, width)


def _heads(b: Build, module: Attention, prefix: str) -> Heads:
    """What the operator is told: it rotates and norms q and k itself where it can."""
    operator, kind, rope = b.c.operators.attention, module.qk_norm, module.rope
    late = kind is not None and kind.after_rope
    heads = Heads(
        module.heads, module.kv_heads, module.head_dim, module.value_dim, module.scale, module.window, module.softcap,
        module.max_alibi_bias,
    )  # fmt: skip
    if rope is not None and not late and operator.rotates(rope.dim):
        heads = replace(heads, rope=OperatorRope(rope.dim, lambda: rotary_tables(b, rope)))
    simple = kind is not None and kind.span == "head" and not late and b.spec.norm.kind == "rms"
    if not simple or module.cache_of is not None or not operator.norms_heads(b.c.target, heads):
        return heads
    order = head_order(module, 1)
    q, k = (b.weights.vector(f"{prefix}.attn_{part}_norm.weight", (module.head_dim,), order) for part in "qk")
    return replace(heads, norms=OperatorHeadNorms(q, k, b.spec.norm.epsilon))


def _normed_and_rotated(
    b: Build, q: Value, k: Value | None, module: Attention, heads: Heads, prefix: str, inputs: SequenceInputs
) -> tuple[Value, Value | None]:
    """What the operator does not do itself."""
    late = module.qk_norm is not None and module.qk_norm.after_rope
    if not late and heads.norms is None:
        q, k = _norm_heads(b, q, k, module, prefix)
    if module.rope is not None and heads.rope is None:
        where = positions(b.c, inputs)
        q = rotate(b, q, module.rope, module.heads, where)
        k = None if k is None else rotate(b, k, module.rope, module.kv_heads, where)
    return _norm_heads(b, q, k, module, prefix) if late else (q, k)


def _norm_heads(b: Build, q: Value, k: Value | None, module: Attention, prefix: str) -> tuple[Value, Value | None]:
    q = head_norm(b, q, module, module.heads, f"{prefix}.attn_q_norm")
    return q, None if k is None else head_norm(b, k, module, module.kv_heads, f"{prefix}.attn_k_norm")


def _clip(b: Build, x: Value, limit: float) -> Value:
    return b.c.graph.op("Clip", x, b.c.number("clip_low", -limit), b.c.number("clip_high", limit))


def sharpen(b: Build, q: Value, temperature: QueryTemperature, inputs: SequenceInputs) -> Value:
    """Queries times 1 + scale * ln(floor(position / floor) + 1)."""
    c, g = b.c, b.c.graph

    def make() -> Value:
        steps = g.op("Div", positions(c, inputs), c.integer("temperature_floor", temperature.floor))
        one = c.number("one", 1.0, "float32")
        log = g.op("Log", g.op("Add", g.cast(steps, "float32"), one))
        factor = g.op("Add", g.op("Mul", log, c.number("temperature_scale", temperature.scale, "float32")), one)
        if c.target.dtype != "float32":
            factor = g.cast(factor, c.target.dtype)
        return g.op("Unsqueeze", factor, g.ints(2))

    return g.op("Mul", q, c.shared(temperature, make))
