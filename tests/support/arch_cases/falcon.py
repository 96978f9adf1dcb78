"""Falcon."""

from tests.support.any_arch import Case
from tests.support.arch_variants import LINEAR, ONE, TIED, WINDOW, YARN

ONE_NORM = "attn_norm_2"

CASES = {
    "one norm, one key head": Case("falcon", "layer", ONE, drop=[ONE_NORM], gelu=True),
    "two norms, tied": Case("falcon", "layer", {"use_parallel_residual": True, **WINDOW}, drop=[TIED], gelu=True),
    "two norms in one layer": Case("falcon", "layer", drop=[r"blk\.0\.attn_norm_2"], gelu=True),
    "second norm without bias": Case("falcon", "layer", drop=[r"attn_norm_2\.bias"], gelu=True),
    "linear": Case("falcon", "layer", LINEAR, drop=[ONE_NORM], gelu=True),
    "yarn": Case("falcon", "layer", YARN, gelu=True),
}
