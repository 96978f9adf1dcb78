"""Orion."""

from tests.support.arch_variants import llama_like

CASES = llama_like("orion", norm="layer", tied=False, wide=False, drop=(r"attn_[qkv]\.bias",))
