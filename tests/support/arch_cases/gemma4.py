"""Gemma 4: like the 31B, like E2B and E4B, like the 26B-A4B, and what its files may say otherwise."""

from typing import Any

import numpy as np

from tests.support.any_arch import Case

VALUES = {
    # Global layers turn only some pairs: the divisors of the others are huge, as in the published files.
    "rope_freqs": lambda rng, shape: np.where(np.arange(shape[0]) < shape[0] // 4, 1.0, 1e30),
    "layer_output_scale": lambda rng, shape: rng.uniform(0.4, 0.8, shape),
    # Scores have no other scale than these weights; large ones make of the GELU table's float16 other tokens.
    "attn_q_norm": lambda rng, shape: rng.uniform(0.1, 0.4, shape),
    r"post_ffw_norm|\.post_norm": lambda rng, shape: rng.uniform(0.1, 0.3, shape),
    # So small that the epsilon of the norm behind shows how large it is.
    r"\.proj\.": lambda rng, shape: rng.normal(0, 0.02, shape),
    r"\.scale": lambda rng, shape: rng.uniform(0.5, 2, shape),
}
LOCAL, GLOBAL = True, False
KEYS: dict[str, Any] = {
    "block_count": 3, "attention.sliding_window": 12, "attention.sliding_window_pattern": [LOCAL, LOCAL, GLOBAL],
    "attention.head_count": 8, "attention.head_count_kv": [4, 4, 2], "feed_forward_length": 256,
    "attention.key_length": 128, "attention.value_length": 128, "attention.key_length_swa": 64,
    "attention.value_length_swa": 64, "rope.dimension_count": 128, "rope.dimension_count_swa": 64,
    "rope.freq_base": 1e6, "rope.freq_base_swa": 1e4, "embedding_length_per_layer_input": 0,
    "final_logit_softcapping": 2.0,
}  # fmt: skip
# The last two layers read the first ones' keys and values.
SMALL = {
    **KEYS, "block_count": 4, "attention.sliding_window_pattern": [LOCAL, GLOBAL, LOCAL, GLOBAL],
    "attention.head_count": 4, "attention.head_count_kv": 1, "attention.shared_kv_layers": 2,
    "embedding_length_per_layer_input": 64, "feed_forward_length": [256, 256, 512, 512],
}  # fmt: skip
# Three layers read the third and the fourth one; their files may still have keys and values of their own.
ODD = {
    **SMALL, "block_count": 7, "embedding_length_per_layer_input": 32, "feed_forward_length": 256,
    "attention.sliding_window_pattern": [LOCAL, GLOBAL, LOCAL, GLOBAL, GLOBAL, LOCAL, LOCAL],
    "attention.shared_kv_layers": 3, "attention.head_count_kv": 4, "attention.key_length": 80,
    "attention.value_length": 80, "attention.key_length_swa": 36, "attention.value_length_swa": 36,
    "rope.dimension_count": 80, "rope.dimension_count_swa": 36,
}  # fmt: skip
WIDE = {"attention.key_length": 512, "attention.value_length": 512, "rope.dimension_count": 512}  # as published
UNSAID = {
    **KEYS, "attention.sliding_window_pattern": [LOCAL] * 3, "attention.head_count_kv": 4, "rope.freq_base_swa": None,
    "rope.dimension_count": None, "rope.dimension_count_swa": 32, "final_logit_softcapping": None,
}  # fmt: skip
STRETCHED = {
    **KEYS, "attention.sliding_window_pattern": [GLOBAL, LOCAL, GLOBAL], "attention.head_count_kv": [2, 4, 1],
    "rope.scaling.type": "linear", "rope.scaling.factor": 4.0, "rope.freq_base": 500.0,
    "final_logit_softcapping": 0.0,
}  # fmt: skip
EXPERTS = ("ffn_.*(exps|inp)", r"p(re|ost)_ffw_norm_[12]")
TIED, FREQS = r"^output\.", "rope_freqs"
OTHERS_KV = r"blk\.[23]\.attn_(k|v|k_norm)\."
# Like the 26B-A4B, whose experts' gate and up are one tensor: experts in every layer, keys as values in global ones.
MIXED: dict[str, Any] = {
    **KEYS, "expert_count": 7, "expert_used_count": 3, "expert_feed_forward_length": 96, "feed_forward_length": 160,
}  # fmt: skip
SHARED_MIXED = {
    **SMALL, "expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 64, "feed_forward_length": 256,
    "expert_weights_scale": 2.0, "expert_gating_func": 2, "expert_shared_count": 1,
}  # fmt: skip
SPREAD = {  # no near choices: the router reads a norm divided by the root of 256
    **VALUES, r"ffn_gate_inp\.weight": lambda rng, shape: rng.normal(0, 3, shape),
    "norm_[12]": lambda rng, shape: rng.uniform(0.5, 1.5, shape),
    "ffn_gate_inp.scale": lambda rng, shape: rng.uniform(0.2, 1.8, shape),
}  # fmt: skip
ONE_PER_TOKEN = {**MIXED, "expert_count": 17, "expert_used_count": 1}
ROUTER_SCALE = rf"{FREQS}|ffn_gate_inp\.scale"
LOUD = {**VALUES, r"^output\.weight": lambda rng, shape: rng.normal(0, 0.5, shape)}  # enough for a softcap of 30


def gemma4(keys: dict[str, Any], *drop: str, keep: str = FREQS, values: Any = None) -> Case:
    """A dense one."""
    return Case("gemma4", keys=keys, drop=(*EXPERTS, *drop), keep=keep, values=values or VALUES, gelu=True)


SOME_MIXED = {  # all but the third layer, whose gate and up llama.cpp takes as two tensors where there is no other
    f"blk.{i}.ffn_{part}_exps.{kind}": shape
    for i in (0, 1, 3)
    for part in ("gate", "up")
    for kind, shape in (("weight", (6, 64, 256)), ("scale", (6,)))
}


def mixture(keys: dict[str, Any], *drop: str, keep: str = ROUTER_SCALE, **more: Any) -> Case:
    """One with experts."""
    return Case("gemma4", keys=keys, drop=(TIED, *drop), keep=keep, values=SPREAD, gelu=True, **more)


CASES = {
    "shared keys and values, embeddings per layer": gemma4(SMALL, TIED, OTHERS_KV),
    "keys as values in global layers": gemma4(KEYS, TIED, r"blk\.2\.attn_v\."),
    "heads of 36 and 80, keys and values that nobody reads": gemma4(ODD, TIED),
    "all local, softcap unsaid, no output scales": gemma4(UNSAID, "layer_output_scale", keep="$^", values=LOUD),
    "heads of 512, shared": gemma4({**SMALL, **WIDE}, TIED, OTHERS_KV),
    "linear scaling of global layers": gemma4(STRETCHED, TIED),
    "second-level scales": gemma4(SMALL, OTHERS_KV, keep=rf"{FREQS}|\.scale$"),
    "experts, scaled, gate and up as one": mixture(
        MIXED, r"blk\.2\.attn_v\.", keep=rf"{ROUTER_SCALE}|down_exps\.scale"
    ),
    "experts with scales in some layers, shared keys and values": mixture(
        SHARED_MIXED,
        OTHERS_KV,
        "ffn_gate_up_exps",
        r"blk\.2\.(ffn_.*(exps|inp)|p(re|ost)_ffw_norm_)",
        keep=rf"{FREQS}|\.scale$",
        untold_tensors=SOME_MIXED,
    ),
    "one of many experts without a scale": mixture(ONE_PER_TOKEN),
}
