"""Experts of which several share a narrower one."""

from dataclasses import replace

from converters.blocks.context import Build
from converters.blocks.experts import chosen
from converters.blocks.module import Place, emits
from converters.blocks.router import choose, routed, score
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.spec import GroveExperts


@emits(GroveExperts)
def grove_experts(b: Build, x: Value, module: GroveExperts, place: Place, _: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    c, g, prefix = b.c, b.c.graph, place.prefix
    with g.scope("experts"):
        tokens = g.op("Reshape", x, g.ints(1, -1, b.spec.hidden))
        own = choose(b, score(b, tokens, module.experts, place))
        y = g.op("Reshape", chosen(b, tokens, own, module.experts, prefix), g.ints(1, -1, b.spec.hidden))
    with g.scope("shared_experts"):
        groups = g.op("Div", own.experts, c.integer("experts_of_a_group", module.group))
        router = replace(module.shared.router, scale=module.shared.router.scale * module.scale)
        more = chosen(b, y, routed(b, groups, own.scores, router), module.shared, prefix)
        shape = g.op("Shape", x)
        return g.op("Add", g.op("Reshape", y, shape), g.op("Reshape", more, shape))
