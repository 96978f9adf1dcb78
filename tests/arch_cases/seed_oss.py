"""Seed-OSS."""

from tests.arch_variants import llama_like

CASES = llama_like("seed_oss")
