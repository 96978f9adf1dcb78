"""BitNet."""

from tests.support.any_arch import Case
from tests.support.arch_variants import LINEAR, TUNED, UNREAD, YARN

CASES = {
    "bitnet usual": Case("bitnet", keys={"rope.scaling.type": "linear", "rope.scaling.factor": 1.0}),
    "bitnet scales": Case("bitnet", keep=r"\.scale$"),
    "bitnet scales of v and down": Case("bitnet", keep=r"(attn_v|ffn_down)\.scale$"),
    "bitnet one key head, linear": Case("bitnet", keys={"attention.head_count_kv": 1, **LINEAR}),
    "bitnet partial, yarn": Case("bitnet", keys={**YARN, **TUNED, "rope.dimension_count": 32}),
    "bitnet small heads, scales": Case("bitnet", keys={"attention.head_count": 16}, keep=r"\.scale$"),
    "bitnet unread keys": Case("bitnet", keys=UNREAD),
}
