"""StableLM."""

from tests.support.any_arch import Case
from tests.support.arch_variants import EACH, LINEAR, QKV_BIASES, SIX, WINDOW, YARN

QUARTER = {**EACH, "rope.dimension_count": 16, "use_parallel_residual": True}  # a key that converters always write
NO_HEAD_NORM = "attn_._norm"
NO_FFN_NORM = "ffn_norm"
WIDE = {"embedding_length": 320, "rope.dimension_count": 20, "attention.layer_norm_epsilon": 0.02}

CASES = {
    "3B": Case("stablelm", "layer", QUARTER, drop=[NO_HEAD_NORM, QKV_BIASES]),
    "1.6B, biases": Case("stablelm", "layer", {**QUARTER, **WINDOW}, drop=[NO_HEAD_NORM]),
    "12B, parallel": Case("stablelm", "layer", WIDE, drop=[NO_FFN_NORM, QKV_BIASES]),
    "head norms, sequential": Case("stablelm", "layer", {"rope.dimension_count": 32}),
    "one layer of each kind": Case(
        "stablelm", "layer", EACH, drop=[r"blk\.0\.ffn_norm", r"blk\.1\.attn_._norm"], fused=True
    ),
    "no bias of ffn_norm": Case("stablelm", "layer", drop=[r"ffn_norm\.bias", NO_HEAD_NORM]),
    "linear": Case("stablelm", "layer", {**QUARTER, **LINEAR}, drop=[NO_HEAD_NORM]),
    "yarn, six heads": Case("stablelm", "layer", {**YARN, **SIX}, drop=[NO_FFN_NORM]),
}
