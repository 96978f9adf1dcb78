"""ERNIE 4.5."""

from tests.support.any_arch import Case
from tests.support.arch_variants import UNREAD, llama_like

CASES = {
    **llama_like("ernie4_5"),
    "ernie4_5 unread keys": Case("ernie4_5", keys={**UNREAD, "rope.dimension_sections": [16, 8, 8, 0]}),
}
