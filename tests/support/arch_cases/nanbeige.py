"""Nanbeige."""

from tests.support.any_arch import Case
from tests.support.arch_variants import BIASES, UNREAD, llama_like

LOOPS = {"num_loops": 3}
CASES = {
    **llama_like("nanbeige", freqs=True, keys=LOOPS),
    "one layer, two loops": Case("nanbeige", keys={"block_count": 1, "num_loops": 2, **UNREAD}, drop=BIASES),
    "no norm between loops": Case("nanbeige", keys={**LOOPS, "skip_loop_final_norm": True}, drop=BIASES),
    "norm between loops said": Case("nanbeige", keys={**LOOPS, "skip_loop_final_norm": False}, drop=BIASES),
    # llama.cpp forgets second-level scales after the first loop.
    "second-level scales": Case("nanbeige", keep=r"\.scale$", drop=BIASES),
    "no loops": Case("nanbeige", drop=BIASES),
    "one loop, partial rotary": Case("nanbeige", keys={"num_loops": 1, "rope.dimension_count": 24}, drop=BIASES),
}
