"""Seed-OSS."""

from tests.support.arch_cases.llama_kin import llama_like

CASES = llama_like("seed_oss")
