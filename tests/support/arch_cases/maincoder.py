"""Maincoder."""

from tests.support.any_arch import Case
from tests.support.arch_variants import BIASES, UNREAD, YARN, llama_like

CASES = {
    **llama_like("maincoder"),
    "maincoder unread keys": Case("maincoder", keys={**UNREAD, **YARN}, drop=BIASES),
}
