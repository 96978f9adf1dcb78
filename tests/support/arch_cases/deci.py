"""DeciLM and Llama-Nemotron: layers of several shapes."""

from tests.support.any_arch import Case
from tests.support.arch_variants import BIASES, FACTORS, LONGROPE, UNREAD, WIDE, llama_like

MIXED = {
    "block_count": 5,
    "attention.head_count": [4, 8, 4, 4, 4],
    "attention.head_count_kv": [2, 1, 4, 2, 4],
    "feed_forward_length": [512, 256, 768, 512, 64],
}
LINEAR_LAYER = {**MIXED, "attention.head_count_kv": [2, 0, 4, 0, 4]}
DROPPED = {**MIXED, "attention.head_count_kv": [2, 1, 0, 2, 4], "feed_forward_length": [512, 256, 0, 0, 64]}
NO_ATTENTION = {
    **MIXED,
    "attention.head_count": [4, 0, 0, 4, 4],
    "attention.head_count_kv": [2, 0, 0, 2, 4],
    "feed_forward_length": [512, 256, 0, 512, 64],
}
FREE_END = {"attention.head_count": [4, 0, 0, 4, 0], "attention.head_count_kv": [2, 0, 0, 2, 0]}
CASES = {
    **llama_like("deci", freqs=True),
    "heads and widths by layer": Case("deci", keys={**MIXED, **UNREAD}, drop=BIASES),
    "heads and widths by layer, wide": Case("deci", keys={**MIXED, **WIDE}, fused=True),
    "products for attention": Case("deci", keys=LINEAR_LAYER),
    "products for attention, second-level scales": Case("deci", keys=LINEAR_LAYER, keep=r"attn_.*\.scale$"),
    "product first": Case("deci", keys={**MIXED, "attention.head_count_kv": [0, 1, 4, 2, 4]}),
    "dropped layers": Case("deci", keys=DROPPED),
    "dropped first layer": Case("deci", keys={**DROPPED, "feed_forward_length": [0, 256, 5, 0, 256]}, drop=BIASES),
    "no attention": Case("deci", keys=NO_ATTENTION),
    "no attention last": Case("deci", keys={**NO_ATTENTION, **FREE_END}, drop=BIASES),
    "long factors": Case("deci", keys=LONGROPE, context=512, **FACTORS),
}
