"""Gemma 3: what tests/converters/archs/test_archs.py does not have."""

from tests.support.any_arch import Case

WINDOW = {
    "attention.sliding_window": 16, "block_count": 6,
    "attention.layer_norm_rms_epsilon": 0.5,  # matters behind large embeddings
}  # fmt: skip
NO_BIASES = (r"\.bias", r"^dense_")
CASES = {
    "window of 16": Case("gemma3", drop=(*NO_BIASES, r"^output\."), keys=WINDOW, gelu=True),
    "own head, linear scaling of global layers": Case(
        "gemma3", drop=NO_BIASES, gelu=True,
        keys={**WINDOW, "rope.scaling.type": "linear", "rope.scaling.factor": 8.0, "rope.freq_base": 1e6},
    ),
    "fused q, k, v, no window, softcap": Case(
        "gemma3", drop=NO_BIASES, gelu=True, fused=True, keys={"final_logit_softcapping": 3.0},
    ),
}  # fmt: skip
