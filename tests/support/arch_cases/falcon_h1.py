"""Falcon H1, whose layers attend and scan side by side."""

from tests.support.any_arch import Case
from tests.support.arch_cases.mamba2 import FADING, MANY, ODD, ONE, SCALES, SPACES
from tests.support.arch_variants import FREQS, LINEAR, TIED, UNREAD, YARN

PLAIN = (r"(attn_.*|ffn_.*)\.bias",)
SMALL = {"ssm.inner_size": 192, "ssm.time_step_rank": 12, "ssm.group_count": 1, "ssm.state_size": 64}
ODD_HEADS = {**ODD, "attention.head_count": 6, "attention.head_count_kv": 2, "feed_forward_length": 96}
CASES = {
    "usual": Case("falcon-h1", keys=SPACES, values=FADING, drop=PLAIN),
    "all biases, of which one is unused, one key head": Case(
        "falcon-h1", keys={**SPACES, "attention.head_count_kv": 1}, values=FADING
    ),
    "result not normed": Case("falcon-h1", keys=SPACES, values=FADING, drop=(*PLAIN, "ssm_norm")),
    "one group, large states, tied": Case("falcon-h1", keys={**SPACES, **ONE}, values=FADING, drop=(*PLAIN, TIED)),
    "narrow space, fused": Case("falcon-h1", keys={**SPACES, **SMALL}, values=FADING, drop=PLAIN, fused=True),
    "as many groups as heads, yarn": Case("falcon-h1", keys={**SPACES, **MANY, **YARN}, values=FADING, drop=PLAIN),
    "odd sizes, linear": Case("falcon-h1", keys={**SPACES, **ODD_HEADS, **LINEAR}, values=FADING, drop=PLAIN),
    "half turned, unread keys": Case(
        "falcon-h1", keys={**SPACES, **UNREAD, "rope.dimension_count": 32}, values=FADING, drop=PLAIN
    ),
    "frequency factors unused": Case(
        "falcon-h1", keys=SPACES, values={**FADING, **FREQS["values"]}, drop=PLAIN, keep=FREQS["keep"]
    ),
    "scales": Case("falcon-h1", keys=SPACES, values=SCALES, drop=PLAIN, keep=r"\.scale$"),
}
