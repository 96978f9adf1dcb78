"""Tiny Hugging Face folders of mixtures, experts one by one or stacked, and the same as an F32 GGUF for llama.cpp."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.support import checkpoint as tiny
from tests.support.int4 import Form, quantized
from tests.support.tiny import encode, write_file

EXPERTS, USED, WIDTH, SHARED = 4, 2, 128, 192
PROJECTIONS = ("gate_proj", "up_proj", "down_proj")
QWEN = {"stem": "mlp.experts", "parts": PROJECTIONS, "router": "mlp.gate"}
KINDS: dict[str, dict[str, Any]] = {
    "qwen3_moe": {
        "arch": "qwen3moe", "base": "qwen3", **QWEN,
        "config": {"num_experts": EXPERTS, "moe_intermediate_size": WIDTH, "norm_topk_prob": True,
                   "decoder_sparse_step": 1, "mlp_only_layers": []},
    },
    "qwen2_moe": {
        "arch": "qwen2moe", "base": "qwen2", **QWEN,
        "config": {"num_local_experts": EXPERTS, "moe_intermediate_size": WIDTH, "norm_topk_prob": False,
                   "shared_expert_intermediate_size": SHARED},
    },
    "mixtral": {
        "arch": "llama", "base": "llama", "stem": "block_sparse_moe.experts", "parts": ("w1", "w3", "w2"),
        "router": "block_sparse_moe.gate",
        "config": {"num_local_experts": EXPERTS, "intermediate_size": WIDTH},
    },
}  # fmt: skip
OURS = ("ffn_gate_exps", "ffn_up_exps", "ffn_down_exps")


def config_of(kind: str, **changes: Any) -> dict[str, Any]:
    own = KINDS[kind]
    shared = {"tie_word_embeddings": False, "num_experts_per_tok": USED}
    return tiny.config_of(own["base"], model_type=kind, **shared, **own["config"], **changes)


def weights_of(kind: str) -> dict[str, tiny.F32]:
    """Floats by Hugging Face's names, experts one by one."""
    own, rng = KINDS[kind], np.random.default_rng(9)
    made = {name: values for name, values in tiny.weights_of(own["base"]).items() if ".mlp." not in name}

    def add(name: str, rows: int, columns: int, spread: float = 1.0) -> None:
        values = spread * rng.standard_normal((rows, columns)) / np.sqrt(columns)
        made[name] = tiny.bf16(values.astype(np.float16).astype(np.float32))
        made[name][np.abs(made[name]) < 1e-4] = 0

    if "lm_head.weight" not in made:
        add("lm_head.weight", tiny.VOCAB, tiny.HIDDEN)
    for layer in range(tiny.LAYERS):
        stem = f"model.layers.{layer}."
        add(f"{stem}{own['router']}.weight", EXPERTS, tiny.HIDDEN, 3.0)
        for expert in range(EXPERTS):
            for part, (rows, columns) in zip(own["parts"], SIZES, strict=True):
                add(f"{stem}{own['stem']}.{expert}.{part}.weight", rows, columns)
        if kind == "qwen2_moe":
            for part, (rows, columns) in zip(PROJECTIONS, SHARED_SIZES, strict=True):
                add(f"{stem}mlp.shared_expert.{part}.weight", rows, columns)
            add(f"{stem}mlp.shared_expert_gate.weight", 1, tiny.HIDDEN)
    return made


SIZES = ((WIDTH, tiny.HIDDEN), (WIDTH, tiny.HIDDEN), (tiny.HIDDEN, WIDTH))
SHARED_SIZES = ((SHARED, tiny.HIDDEN), (SHARED, tiny.HIDDEN), (tiny.HIDDEN, SHARED))


def stored(weights: dict[str, tiny.F32], form: Form | None) -> dict[str, tiny.Stored]:
    """As a folder has them: experts and attention by `form`, whose meaning takes the place of the `weights`."""
    tensors = dict[str, tiny.Stored]()
    for number, (name, values) in enumerate(weights.items()):
        stem, projection = name.removesuffix(".weight"), any(part in name for part in ("_proj.weight", ".experts."))
        if form is not None and projection and "shared" not in name:
            one = quantized(values.shape, form, number)
            weights[name], tensors = one.values, tensors | form.write(stem, one)
        else:
            tensors[name] = tiny.stored(values, "BF16" if form is None or form.scale_type == "BF16" else "F16")
    return tensors


def stacked(tensors: dict[str, tiny.Stored]) -> dict[str, tiny.Stored]:
    """As MLX has experts: one tensor for all, `mlp.switch_mlp`."""
    made, groups = dict[str, tiny.Stored](), dict[str, list[tiny.Stored]]()
    for name, entry in tensors.items():
        before, found, behind = name.partition(".experts.")
        if found:
            groups.setdefault(f"{before}.switch_mlp.{behind.partition('.')[2]}", []).append(entry)
        else:
            made[name] = entry
    return made | {name: (own[0][0], np.stack([array for _, array in own])) for name, own in groups.items()}


def write_gguf(path: Path, kind: str, weights: dict[str, tiny.F32]) -> Path:
    """The same model as llama.cpp wants it."""
    own, arch = KINDS[kind], KINDS[kind]["arch"]
    dense = {name: values for name, values in weights.items() if own["stem"].partition(".")[0] not in name}
    tensors = tiny.gguf_tensors(own["base"], dense)
    for layer in range(tiny.LAYERS):
        stem = f"model.layers.{layer}."
        tensors[f"blk.{layer}.ffn_gate_inp.weight"] = encode(weights[f"{stem}{own['router']}.weight"], "F32")
        for ours, part in zip(OURS, own["parts"], strict=True):
            every = [weights[f"{stem}{own['stem']}.{expert}.{part}.weight"] for expert in range(EXPERTS)]
            tensors[f"blk.{layer}.{ours}.weight"] = encode(np.stack(every), "F32")
        for part in ("gate", "up", "down") if kind == "qwen2_moe" else ():
            values = weights[f"{stem}mlp.shared_expert.{part}_proj.weight"]
            tensors[f"blk.{layer}.ffn_{part}_shexp.weight"] = encode(values, "F32")
        if kind == "qwen2_moe":
            gate = weights[f"{stem}mlp.shared_expert_gate.weight"]
            tensors[f"blk.{layer}.ffn_gate_inp_shexp.weight"] = encode(gate.reshape(-1), "F32")
    sizes = {"expert_count": EXPERTS, "expert_used_count": USED, "expert_feed_forward_length": WIDTH,
             "feed_forward_length": WIDTH, "expert_shared_feed_forward_length": SHARED}  # fmt: skip
    return write_file(path, arch, tiny.gguf_metadata(arch, **sizes), tensors)
