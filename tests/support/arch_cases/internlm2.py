"""InternLM 2."""

from tests.support.arch_variants import llama_like

CASES = llama_like("internlm2", tied=False, wide=False)
