"""Arcee."""

from tests.any_arch import Case
from tests.arch_variants import UNREAD, llama_like

CASES = {
    **llama_like("arcee", freqs=True),
    "arcee unread keys": Case("arcee", keys=UNREAD),
}
