"""openPangu-Embedded."""

from tests.support.any_arch import Case
from tests.support.arch_variants import FREQS, llama_like

CASES = {
    **llama_like("pangu-embedded", drop=()),
    "no biases of q, k, v": Case("pangu-embedded", drop=(r"attn_[qkv]\.bias",)),
    "unused frequency factors": Case("pangu-embedded", **FREQS),
}
