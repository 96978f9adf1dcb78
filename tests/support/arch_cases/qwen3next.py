"""Qwen 3 Next: as the mixtures of Qwen 3.5, but value heads of a key head stand side by side."""

import numpy as np

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen35 import FLAGS, KEPT, KEYS, NO_BIASES, SPREADING, TWO
from tests.support.arch_variants import LINEAR, TIED

MIXTURE = {
    **KEYS, "rope.dimension_sections": None, "expert_count": 6, "expert_used_count": 2,
    "expert_feed_forward_length": 192, "expert_shared_feed_forward_length": 320,
}  # fmt: skip
FUSED = r"ssm_in\."  # q, k, v and the gate, in older files
SPLIT = r"attn_(qkv|gate)\."
SHORT = {"ssm.conv_kernel": 2, "ssm.group_count": 1, **LINEAR}
RULE = {"feed_forward_length": 480, "expert_feed_forward_length": None, "expert_shared_feed_forward_length": None}
CASES = {
    name: Case("qwen3next", **{"drop": (*NO_BIASES, FUSED), "values": SPREADING, **options})
    for name, options in {
        "usual": {"keys": MIXTURE},
        "one tensor for q, k, v and the gate": {"keys": {**MIXTURE, **FLAGS}, "drop": (*NO_BIASES, SPLIT)},
        "as many key heads, widths by rule, tied": {
            "keys": {**MIXTURE, **TWO, **RULE, "ssm.group_count": 8, "expert_used_count": 3},
            "drop": (*NO_BIASES, FUSED, TIED),
        },
        "short convolution, one key head, linear": {"keys": {**MIXTURE, **TWO, **SHORT}},
        "nothing fades": {
            "keys": {**MIXTURE, **TWO}, "length": 96,
            "values": {**KEPT, **SPREADING, "ssm_ba": lambda rng, shape: np.zeros(shape)},
        },
    }.items()
}  # fmt: skip
