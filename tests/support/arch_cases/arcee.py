"""Arcee."""

from tests.support.any_arch import Case
from tests.support.arch_variants import UNREAD, llama_like

CASES = {
    **llama_like("arcee", freqs=True),
    "arcee unread keys": Case("arcee", keys=UNREAD),
}
