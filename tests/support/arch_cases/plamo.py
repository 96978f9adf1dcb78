"""PLaMo 1."""

from tests.support.arch_cases.llama_kin import llama_like

CASES = llama_like("plamo", tied=False, wide=False)
