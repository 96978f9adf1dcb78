"""PLaMo 1."""

from tests.support.arch_variants import llama_like

CASES = llama_like("plamo", tied=False, wide=False)
