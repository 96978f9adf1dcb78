"""XVERSE."""

from tests.support.arch_variants import llama_like

CASES = llama_like("xverse", tied=False, wide=False)
