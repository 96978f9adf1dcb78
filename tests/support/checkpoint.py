"""Tiny Hugging Face folders, written by hand, and the same weights as an F32 GGUF for llama.cpp."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.tiny import encode, write_file

F32 = NDArray[np.float32]
Stored = tuple[str, NDArray[Any]]  # the format's name of the type, and the bytes' array
HEADS, KV_HEADS, DIM, HIDDEN, WIDTH, VOCAB, LAYERS = 4, 2, 64, 256, 384, 320, 2
THETA, EPSILON = 500.0, 1e-2
PAIRED = ("llama", "granite", "smollm3")  # architectures of which GGUF files have pairs side by side
LAYER_NAMES = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip
SHAPES = {
    "self_attn.q_proj": (HEADS * DIM, HIDDEN), "self_attn.k_proj": (KV_HEADS * DIM, HIDDEN),
    "self_attn.v_proj": (KV_HEADS * DIM, HIDDEN), "self_attn.o_proj": (HIDDEN, HEADS * DIM),
    "mlp.gate_proj": (WIDTH, HIDDEN), "mlp.up_proj": (WIDTH, HIDDEN), "mlp.down_proj": (HIDDEN, WIDTH),
}  # fmt: skip


@dataclass(frozen=True)
class Packed:
    """What a packed matrix means: codes uint8 [rows, columns], scale float32 [rows, groups]."""

    codes: NDArray[np.uint8]
    scale: F32
    bits: int

    @property
    def values(self) -> F32:
        wide = np.repeat(self.scale.astype(np.float64), self.codes.shape[1] // self.scale.shape[1], axis=1)
        return (wide * (self.codes.astype(np.int64) - (1 << (self.bits - 1)))).astype(np.float32)


def bf16(values: Any) -> F32:
    """Rounded towards zero to bfloat16, as float32."""
    return (np.ascontiguousarray(values, np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)


def stored(values: F32, dtype: str) -> Stored:
    """Floats as a file has them; they must fit."""
    if dtype == "BF16":
        return dtype, (values.view(np.uint32) >> 16).astype(np.uint16)
    return dtype, values.astype({"F32": np.float32, "F16": np.float16}[dtype])


def config_of(kind: str, **changes: Any) -> dict[str, Any]:
    """A config.json as version 4 of transformers has it; None takes a key away."""
    base = {
        "model_type": kind, "hidden_size": HIDDEN, "intermediate_size": WIDTH, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": DIM, "vocab_size": VOCAB,
        "max_position_embeddings": 256, "rms_norm_eps": EPSILON, "rope_theta": THETA, "hidden_act": "silu",
        "tie_word_embeddings": kind == "qwen2", "torch_dtype": "bfloat16", "bos_token_id": 1, "eos_token_id": 2,
    }  # fmt: skip
    return {key: value for key, value in {**base, **changes}.items() if value is not None}


def weights_of(kind: str, seed: int = 0) -> dict[str, F32]:
    """Float weights by Hugging Face's names, all of which bfloat16 and float16 hold."""
    rng, made = np.random.default_rng(seed), dict[str, F32]()

    def add(name: str, values: Any) -> None:
        made[name] = bf16(np.asarray(values, np.float16).astype(np.float32) + 0.0)
        made[name][np.abs(made[name]) < 1e-4] = 0

    add("model.embed_tokens.weight", rng.standard_normal((VOCAB, HIDDEN)) / np.sqrt(HIDDEN))
    for layer in range(LAYERS):
        stem = f"model.layers.{layer}."
        for name in ("input_layernorm", "post_attention_layernorm"):
            add(f"{stem}{name}.weight", rng.uniform(0.5, 1.5, HIDDEN))
        for name, shape in SHAPES.items():
            add(f"{stem}{name}.weight", rng.standard_normal(shape) / np.sqrt(shape[1]))
            if kind == "qwen2" and name[-6:-5] in "qkv" and "self" in name:
                add(f"{stem}{name}.bias", rng.normal(0, 0.3, shape[0]))
        for name in ("q_norm", "k_norm") if kind == "qwen3" else ():
            add(f"{stem}self_attn.{name}.weight", rng.uniform(0.5, 1.5, DIM))
    add("model.norm.weight", rng.uniform(0.5, 1.5, HIDDEN))
    if kind != "qwen2":
        add("lm_head.weight", rng.standard_normal((VOCAB, HIDDEN)) / np.sqrt(HIDDEN))
    return made


def pack(weights: Mapping[str, F32], bits: int, group: int | None) -> dict[str, Packed]:
    """Random codes and scales in place of the layers' matrices: every code occurs."""
    rng, found = np.random.default_rng(5), dict[str, Packed]()
    for name, values in weights.items():
        if "_proj.weight" in name:
            rows, columns = values.shape
            scale = rng.uniform(0.5, 1.5, (rows, columns // (group or columns))) * 3.5 / 2**bits / np.sqrt(columns)
            codes = rng.integers(0, 1 << bits, values.shape).astype(np.uint8)
            found[name.removesuffix(".weight")] = Packed(codes, bf16(scale), bits)
    return found


def packed_tensors(stem: str, one: Packed) -> dict[str, Stored]:
    """The three tensors of a symmetric matrix: code k of a row in bits k * bits and on."""
    per_word = 32 // one.bits
    grouped = one.codes.reshape(len(one.codes), -1, per_word).astype(np.uint32)
    words = np.zeros(grouped.shape[:2], np.uint32)
    for place in range(per_word):
        words |= grouped[:, :, place] << np.uint32(place * one.bits)
    return {
        f"{stem}.weight_packed": ("I32", words.view(np.int32)),
        f"{stem}.weight_scale": stored(one.scale, "BF16"),
        f"{stem}.weight_shape": ("I64", np.array(one.codes.shape, np.int64)),
    }


def packing(bits: int, group: int | None, **changes: Any) -> dict[str, Any]:
    """A quantization_config."""
    weights = {"type": "int", "num_bits": bits, "symmetric": True, "strategy": "group" if group else "channel",
               "group_size": group, "actorder": None, "dynamic": False, **changes}  # fmt: skip
    groups = {"group_0": {"targets": ["Linear"], "weights": weights, "input_activations": None}}
    return {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": groups,
            "ignore": ["lm_head"]}  # fmt: skip


def write_safetensors(path: Path, tensors: Mapping[str, Stored]) -> None:
    """A file by the format's own description."""
    header, blobs, at = {}, [], 0
    for name, (dtype, array) in tensors.items():
        blobs.append(array.tobytes())
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [at, at + len(blobs[-1])]}
        at += len(blobs[-1])
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def write_checkpoint(folder: Path, config: Mapping[str, Any], tensors: Mapping[str, Stored], shards: int = 1) -> Path:
    """A folder; with several shards, the tensors go to each of them in turn."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(dict(config)))
    if shards == 1:
        write_safetensors(folder / "model.safetensors", tensors)
        return folder
    names = list(tensors)
    place = {name: f"model-{i % shards + 1:05d}-of-{shards:05d}.safetensors" for i, name in enumerate(names)}
    for file in set(place.values()):
        write_safetensors(folder / file, {name: tensors[name] for name in names if place[name] == file})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": place}))
    return folder


def write_gguf(path: Path, kind: str, weights: Mapping[str, F32], **keys: Any) -> Path:
    """The same model as llama.cpp wants it: F32, and rows of q and k in neighbouring pairs for llama."""
    return write_file(path, kind, gguf_metadata(kind, **keys), gguf_tensors(kind, weights))


def gguf_metadata(kind: str, **keys: Any) -> dict[str, Any]:
    """Keys of a GGUF."""
    sizes = {
        "context_length": 256, "embedding_length": HIDDEN, "block_count": LAYERS, "feed_forward_length": WIDTH,
        "attention.head_count": HEADS, "attention.head_count_kv": KV_HEADS, "attention.key_length": DIM,
        "attention.value_length": DIM, "attention.layer_norm_rms_epsilon": EPSILON, "rope.freq_base": THETA,
        "vocab_size": VOCAB, **keys,
    }  # fmt: skip
    return {**{f"{kind}.{key}": value for key, value in sizes.items()}, "tokenizer.ggml.model": "no_vocab"}


def gguf_tensors(kind: str, weights: Mapping[str, F32]) -> dict[str, Any]:
    """Tensors of a GGUF by its names."""
    names = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
             "lm_head.weight": "output.weight"}  # fmt: skip
    for layer in range(LAYERS):
        for theirs, ours in LAYER_NAMES.items():
            for part in ("weight", "bias"):
                names[f"model.layers.{layer}.{theirs}.{part}"] = f"blk.{layer}.{ours}.{part}"
    tensors = {}
    for name, values in weights.items():
        turned = kind in PAIRED and (".q_proj." in name or ".k_proj." in name)
        tensors[names[name]] = encode(_neighbours(values) if turned else values, "F32")
    return tensors


def _neighbours(values: F32) -> F32:
    """Channels (i, i + DIM / 2) of each head next to each other."""
    heads = values.reshape(-1, 2, DIM // 2, *values.shape[1:])
    return np.ascontiguousarray(heads.swapaxes(1, 2)).reshape(values.shape)
