"""Grok 1 and 2."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, LINEAR, TIED, YARN

DENSE = r"ffn_(gate|up|down)\."
# The defaults are those of 6144 channels: scores of 64 would be flat.
KEYS = {
    "expert_count": 7, "expert_used_count": 3, "embedding_scale": 5.0, "attention.output_scale": 0.125,
    "attn_logit_softcapping": 3.0,
}  # fmt: skip
SECOND = {
    "expert_feed_forward_length": 96, "feed_forward_length": 160, "logit_scale": 0.7, "final_logit_softcapping": 4.0,
    "router_logit_softcapping": 5.0, "attention.temperature_length": 16,
}  # fmt: skip
CASES = {
    "defaults of Grok 1": Case(
        "grok",
        keys={"expert_count": 7, "expert_used_count": 2, "feed_forward_length": 160},
        values=SPREAD,
        drop=(DENSE, TIED, *BIASES),
        gelu=True,
    ),
    "Grok 2": Case("grok", keys={**KEYS, **SECOND, **YARN}, values=SPREAD, drop=BIASES, gelu=True),
    "no gates, factor, biases, unused scales": Case(
        "grok",
        keys={**KEYS, **SECOND, **LINEAR, "expert_weights_scale": 2.0, "expert_gating_func": 2},
        untold_keys={"rope.scaling.yarn_attn_factor": 0.8},
        values=SPREAD,
        drop=("ffn_gate_exps", r"ffn_gate\.", "layer_output_norm"),
        untold_tensors={f"blk.{i}.post_ffw_norm.weight": (256,) for i in range(2)},
        keep=r"\.scale$",
        gelu=True,
    ),
    "yarn tuned": Case(
        "grok",
        keys={
            **KEYS, **YARN, "rope.scaling.yarn_beta_fast": 2.0, "rope.scaling.yarn_beta_slow": 0.2,
            "rope.scaling.yarn_ext_factor": 1.0, "rope.scaling.yarn_attn_factor": 1.5, "feed_forward_length": 160,
        },
        values=SPREAD,
        drop=(DENSE, *BIASES),
        gelu=True,
    ),
}  # fmt: skip
