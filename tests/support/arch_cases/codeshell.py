"""CodeShell."""

from tests.support.any_arch import Case
from tests.support.arch_variants import EACH, LINEAR, ONE, QKV_BIASES, WINDOW, YARN

CASES = {
    "two matrices": Case("codeshell", "layer", gelu=True),
    "head is the embedding": Case("codeshell", "layer", drop=["^token_embd"], gelu=True),
    "fused without biases": Case("codeshell", "layer", {**EACH, **WINDOW}, drop=[QKV_BIASES], fused=True, gelu=True),
    "linear, one key head": Case("codeshell", "layer", {**LINEAR, **ONE}, gelu=True),
    "yarn": Case("codeshell", "layer", YARN, gelu=True),
}
