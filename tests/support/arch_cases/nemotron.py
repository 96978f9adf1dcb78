"""Nemotron."""

from tests.support.any_arch import Case
from tests.support.arch_variants import LINEAR, TUNED, UNREAD, YARN

PARTIAL = {"rope.dimension_count": 32, "attention.layer_norm_rms_epsilon": 0.1}  # the other epsilon is not read
OPTIONAL = (r"(attn_[qkv]|attn_output|ffn_up|ffn_down)\.bias",)
CASES = {
    "nemotron usual": Case("nemotron", "layer", PARTIAL, drop=OPTIONAL),
    "nemotron all biases, all turned": Case("nemotron", "layer"),
    "nemotron fused": Case("nemotron", "layer", PARTIAL, fused=True),
    "nemotron linear, one key head": Case(
        "nemotron", "layer", {**PARTIAL, **LINEAR, "attention.head_count_kv": 1}, drop=OPTIONAL
    ),
    "nemotron yarn": Case("nemotron", "layer", {**PARTIAL, **YARN, **TUNED}),
    "nemotron scaling none, unread keys": Case(
        "nemotron", "layer", {**PARTIAL, **LINEAR, **UNREAD, "rope.scaling.type": "none"}, drop=OPTIONAL
    ),
    "nemotron quarter turned, small heads": Case(
        "nemotron", "layer", {"attention.head_count": 16, "attention.head_count_kv": 4, "rope.dimension_count": 4}
    ),
}
