"""Seed-OSS."""

from tests.support.arch_variants import llama_like

CASES = llama_like("seed_oss")
