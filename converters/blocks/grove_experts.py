"""Experts of which several share a narrower one."""

from dataclasses import replace

from converters.blocks.context import WIDE, Build
from converters.blocks.experts import chosen
from converters.blocks.module import Place, emits
from converters.blocks.router import route, weighed
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.spec import GroveExperts


@emits(GroveExperts)
def grove_experts(b: Build, x: Value, module: GroveExperts, place: Place, _: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    c, g, prefix = b.c, b.c.graph, place.prefix
    with g.scope("experts"):
        tokens = g.op("Reshape", x, g.ints(1, -1, b.spec.hidden))
        routed = route(b, tokens, module.experts, place)
        y = g.op("Reshape", chosen(b, tokens, routed, module.experts, prefix), g.ints(1, -1, b.spec.hidden))
    with g.scope("shared_experts"):
        groups = g.op("Div", routed.experts, c.integer("experts_of_a_group", module.group))
        shared = weighed(b, groups, routed.scores, module.shared.router)
        weights = g.op("Mul", shared.weights, c.number("group_scale", module.scale, WIDE))
        more = chosen(b, y, replace(shared, weights=weights), module.shared, prefix)
        shape = g.op("Shape", x)
        return g.op("Add", g.op("Reshape", y, shape), g.op("Reshape", more, shape))
