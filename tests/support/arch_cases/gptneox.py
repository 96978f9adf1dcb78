"""GPT-NeoX."""

from tests.support.any_arch import Case
from tests.support.arch_variants import EACH, LINEAR, WINDOW, YARN

PARALLEL = {**EACH, "use_parallel_residual": True}
SEQUENTIAL = {**EACH, "use_parallel_residual": False}
HEADS_OF_80 = {"embedding_length": 320, "rope.dimension_count": 20}  # Pythia 2.8B's

CASES = {
    "parallel, a quarter turned": Case("gptneox", "layer", {**PARALLEL, "rope.dimension_count": 16}, gelu=True),
    "sequential, all turned": Case("gptneox", "layer", SEQUENTIAL, gelu=True),
    "parallel, 20 of 80": Case("gptneox", "layer", {**PARALLEL, **HEADS_OF_80}, gelu=True),
    "linear, grouped": Case(
        "gptneox",
        "layer",
        {**SEQUENTIAL, **LINEAR, **WINDOW, "rope.dimension_count": 32, "attention.head_count_kv": 2},
        gelu=True,
    ),
    "yarn, partial": Case("gptneox", "layer", {**PARALLEL, **YARN, "rope.dimension_count": 32}, gelu=True),
}
