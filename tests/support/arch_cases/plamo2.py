"""PLaMo 2, whose state spaces and attention take turns."""

from tests.support.any_arch import Case
from tests.support.arch_cases.mamba2 import FADING, SCALES
from tests.support.arch_variants import LINEAR, TIED, UNREAD

KEYS = {
    "block_count": 3, "attention.head_count_kv": [0, 2, 0], "ssm.conv_kernel": 4, "ssm.inner_size": 512,
    "ssm.state_size": 32, "ssm.time_step_rank": 8, "ssm.group_count": 0,
}  # fmt: skip
LAST = {"attention.head_count": [4, 4, 8], "attention.head_count_kv": [0, 0, 1], "attention.key_length": 64,
        "attention.value_length": 32}  # fmt: skip
NARROW = {"ssm.inner_size": 192, "ssm.time_step_rank": 12, "ssm.state_size": 24, "ssm.conv_kernel": 3}
BROAD = {"embedding_length": 1088, "attention.key_length": 64, "attention.value_length": 64}  # steps of rank 68
CASES = {
    "usual": Case("plamo2", keys=KEYS, values=FADING),
    "last layer attends with other heads and values": Case("plamo2", keys={**KEYS, **LAST}, values=FADING),
    "narrow space, tied, linear": Case("plamo2", keys={**KEYS, **NARROW, **LINEAR}, values=FADING, drop=(TIED,)),
    "steps of a higher rank, half turned": Case(
        "plamo2", keys={**KEYS, **BROAD, **UNREAD, "rope.dimension_count": 32}, values=FADING
    ),
    "scales": Case("plamo2", keys=KEYS, values=SCALES, keep=r"\.scale$"),
}
