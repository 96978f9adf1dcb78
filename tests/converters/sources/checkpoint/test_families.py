"""Folders of Gemma 2, Gemma 3 and Phi 3: names, norms and matrices that GGUF files have otherwise."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.sources.checkpoint.folder import CheckpointFolder
from repack.errors import MobiusError
from tests.converters.sources.checkpoint.test_models import check
from tests.support import checkpoint as tiny
from tests.support.oracle import require_llama
from tests.support.runner import TOLERANCE_GELU
from tests.support.tiny import encode

require_llama()
GEMMA_NORMS = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
}  # fmt: skip
WINDOW = 16
GEMMA = {"hidden_activation": "gelu_pytorch_tanh", "hidden_act": None, "query_pre_attn_scalar": tiny.DIM,
         "sliding_window": WINDOW, "tie_word_embeddings": None, "cache_implementation": "hybrid"}  # fmt: skip
GEMMA2 = {"attn_logit_softcapping": 20.0, "final_logit_softcapping": 10.0}
OLD = {"rope_theta": tiny.THETA, "rope_local_base_freq": 50.0, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}
NEW = {"rope_theta": None, "rope_parameters": {
    "full_attention": {"rope_theta": tiny.THETA, "rope_type": "linear", "factor": 2.0},
    "sliding_attention": {"rope_theta": 50.0, "rope_type": "default"}}}  # fmt: skip
GEMMA3_KEYS = {"rope.freq_base_swa": 50.0, "rope.scaling.type": "linear", "rope.scaling.factor": 2.0}


def gemma(kind: str, layers: int) -> tuple[dict[str, tiny.Stored], dict[str, Any]]:
    """Tensors of a folder, and those of a GGUF file: its norms are larger by one."""
    rng, base = np.random.default_rng(3), tiny.weights_of("qwen2")
    tensors, gguf = dict[str, tiny.Stored](), dict[str, Any]()

    def add(theirs: str, ours: str, values: tiny.F32, more: float = 0.0) -> None:
        tensors[theirs] = tiny.stored(values, "BF16")
        gguf[ours] = encode(values + np.float32(more), "F32")

    add("model.embed_tokens.weight", "token_embd.weight", base["model.embed_tokens.weight"])
    add("model.norm.weight", "output_norm.weight", tiny.bf16(rng.uniform(-0.5, 0.5, tiny.HIDDEN)), 1)
    for layer in range(layers):
        for theirs, ours in GEMMA_NORMS.items():
            width = tiny.DIM if "self_attn" in theirs else tiny.HIDDEN
            if kind != "gemma2" or "self_attn" not in theirs:
                norm = tiny.bf16(rng.uniform(-0.5, 0.5, width))
                add(f"model.layers.{layer}.{theirs}.weight", f"blk.{layer}.{ours}.weight", norm, 1)
        for theirs, shape in tiny.SHAPES.items():
            values = tiny.bf16(rng.standard_normal(shape).astype(np.float16) / np.sqrt(shape[1]))
            add(f"model.layers.{layer}.{theirs}.weight", f"blk.{layer}.{tiny.LAYER_NAMES[theirs]}.weight", values)
    return tensors, gguf


@pytest.mark.parametrize(
    ("kind", "arch", "layers", "changes", "keys"),
    [
        ("gemma2", "gemma2", 2, GEMMA2, GEMMA2),
        ("gemma3_text", "gemma3", 6, OLD, GEMMA3_KEYS),
        ("gemma3_text", "gemma3", 6, NEW, GEMMA3_KEYS),
    ],
)
def test_gemma(tmp_path: Path, kind: str, arch: str, layers: int, changes: Any, keys: Any) -> None:
    tensors, gguf = gemma(kind, layers)
    config = tiny.config_of("qwen2", model_type=kind, num_hidden_layers=layers, **GEMMA | changes)
    more = {"attention.sliding_window": WINDOW, "block_count": layers, **keys}
    check(tmp_path, arch, config, tensors, {}, more=gguf, tolerance=TOLERANCE_GELU, **more)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"query_pre_attn_scalar": 100}, "query_pre_attn_scalar is 100"),
        ({"layer_types": ["full_attention"] * 6}, "layer_types"),
        ({"attn_logit_softcapping": 5.0}, "attn_logit_softcapping"),
        ({"hidden_activation": "silu"}, "hidden_activation is 'silu'"),
    ],
)
def test_what_gemma_is_not(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    tensors, _ = gemma("gemma3_text", 6)
    config = tiny.config_of("qwen2", model_type="gemma3_text", num_hidden_layers=6, **GEMMA | OLD | changes)
    with pytest.raises(MobiusError, match=told):
        CheckpointFolder.open(tiny.write_checkpoint(tmp_path, config, tensors))


@pytest.mark.parametrize("turned", [1.0, 0.75])
def test_phi3(tmp_path: Path, turned: float) -> None:
    """q, k and v are one matrix, and so are gate and up."""
    weights = tiny.weights_of("llama")
    gguf = tiny.gguf_tensors("phi3", {name: values for name, values in weights.items() if "_proj" not in name})
    tensors = {name: tiny.stored(values, "BF16") for name, values in weights.items() if "_proj" not in name}
    for layer in range(tiny.LAYERS):
        for theirs, ours, parts in (
            ("self_attn.qkv_proj", "attn_qkv", ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")),
            ("mlp.gate_up_proj", "ffn_up", ("mlp.gate_proj", "mlp.up_proj")),
            ("self_attn.o_proj", "attn_output", ("self_attn.o_proj",)),
            ("mlp.down_proj", "ffn_down", ("mlp.down_proj",)),
        ):
            whole = np.concatenate([weights[f"model.layers.{layer}.{part}.weight"] for part in parts])
            tensors[f"model.layers.{layer}.{theirs}.weight"] = tiny.stored(whole, "BF16")
            gguf[f"blk.{layer}.{ours}.weight"] = encode(whole, "F32")
    config = tiny.config_of(
        "llama", model_type="phi3", partial_rotary_factor=turned, original_max_position_embeddings=256
    )
    check(tmp_path, "phi3", config, tensors, {}, more=gguf, **{"rope.dimension_count": int(tiny.DIM * turned)})
