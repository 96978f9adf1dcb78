"""Maincoder."""

from tests.any_arch import Case
from tests.arch_variants import BIASES, UNREAD, YARN, llama_like

CASES = {
    **llama_like("maincoder"),
    "maincoder unread keys": Case("maincoder", keys={**UNREAD, **YARN}, drop=BIASES),
}
