"""Baichuan."""

from tests.support.any_arch import Case
from tests.support.arch_variants import BIASES, LINEAR, YARN, llama_like

SMALL = {"embedding_length": 96, "feed_forward_length": 128, "attention.head_count": 6, "attention.head_count_kv": 3}
CASES = {
    **llama_like("baichuan", tied=False, wide=False, keys={"block_count": 32, **SMALL}),
    "baichuan usual": Case("baichuan", keys={"block_count": 32}, drop=BIASES),  # rows that Q4_K can hold
    "baichuan with alibi": Case("baichuan", keys={"block_count": 40, **SMALL}, drop=BIASES),
    "baichuan with alibi, fused, biases": Case("baichuan", keys={"block_count": 40, **SMALL}, fused=True),
    "baichuan with alibi, rotary keys": Case("baichuan", keys={"block_count": 40, **SMALL, **YARN}, drop=BIASES),
    "baichuan of another size": Case("baichuan", keys={"block_count": 3, **LINEAR}, drop=BIASES),
}
