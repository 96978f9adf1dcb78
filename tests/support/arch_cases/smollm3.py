"""SmolLM 3."""

from tests.support.any_arch import Case
from tests.support.arch_variants import UNREAD, llama_like

FIVE_LAYERS = {"block_count": 5}  # the fourth of which has no positions
CASES = {
    **llama_like("smollm3", keys=FIVE_LAYERS),
    "smollm3 unread keys": Case("smollm3", keys={**FIVE_LAYERS, **UNREAD}),
}
