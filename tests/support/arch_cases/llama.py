"""Llama: what tests/converters/archs/test_archs.py does not have."""

from tests.support.any_arch import Case
from tests.support.arch_variants import FACTORS, FREQS, LONGROPE

CASES = {
    "all biases": Case("llama"),
    "fused q, k, v": Case("llama", fused=True),
    "heads of 60": Case("llama", keys={"attention.key_length": 60, "attention.value_length": 60}),
    "heads of 72": Case("llama", keys={"attention.key_length": 72, "attention.value_length": 72}),
    "heads of 100, factors": Case("llama", keys={"attention.key_length": 100, "attention.value_length": 100}, **FREQS),
    "long factors": Case("llama", keys=LONGROPE, context=512, **FACTORS),
    "short factors": Case("llama", keys=LONGROPE, context=256, **FACTORS),
}
