"""The parts of a tiny GGUF file: its options, metadata, vocabulary and tensors with their usual names."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

ARCHS = ("llama", "qwen2", "qwen3", "gemma3")
FloatArray = NDArray[np.float32]


@dataclass(frozen=True)
class TinyConfig:
    """Options of :func:`tests.tiny.write_tiny`. None means what files of that architecture usually have."""

    arch: str
    n_embd: int = 256
    n_head: int = 4
    n_kv: int = 2
    head_dim: int = 64
    value_dim: int | None = None  # default: head_dim
    n_ff: int = 512
    # gemma3: 6, because every sixth layer is the global one. With fewer all are local, unless a pattern is given.
    n_layer: int | None = None
    n_vocab: int = 320
    n_ctx: int = 512
    eps: float = 1e-6
    rope_base: float | None = None
    rope_base_swa: float | None = None  # default: the key is absent
    rope_dim: int | None = None  # rope.dimension_count; by default only llama writes it
    rope_freqs: Sequence[float] | None = None
    rope_scaling: str | None = None
    rope_factor: float | None = 4.0  # None: a scaling type without its factor
    rope_original_context: int | None = None
    rope_attn_factor: float | None = None
    sliding_window: int | None = None  # gemma3: 8; 0 leaves the key out
    sliding_window_pattern: int | Sequence[bool] | None = None
    biases: Sequence[str] | None = None  # stems such as "attn_q", "ffn_up", "output"
    bias_magnitude: float = 100.0
    tied: bool | None = None
    final_softcap: float | None = None
    attn_softcap: float | None = None
    extra_metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def layers(self) -> int:
        """How many blocks the file has."""
        return self.n_layer or (6 if self.arch == "gemma3" else 2)

    @property
    def value_length(self) -> int:
        """Width of one value head."""
        return self.value_dim or self.head_dim


def metadata(config: TinyConfig, tokenizer: str) -> dict[str, Any]:
    """Every key of the file but general.architecture, which the writer adds itself."""
    arch, window = config.arch, config.sliding_window
    local: dict[str, Any] = {
        "vocab_size": config.n_vocab,
        "context_length": config.n_ctx,
        "embedding_length": config.n_embd,
        "block_count": config.layers,
        "feed_forward_length": config.n_ff,
        "attention.head_count": config.n_head,
        "attention.head_count_kv": config.n_kv,
        "attention.key_length": config.head_dim,
        "attention.value_length": config.value_length,
        "attention.layer_norm_rms_epsilon": config.eps,
        "attention.sliding_window": (8 if window is None else window or None) if arch == "gemma3" else window,
        "attention.sliding_window_pattern": config.sliding_window_pattern,
        "rope.freq_base": config.rope_base or (1e4 if arch == "llama" else 1e6),
        "rope.freq_base_swa": config.rope_base_swa,
        "rope.dimension_count": config.rope_dim or (config.head_dim if arch == "llama" else None),
        "rope.scaling.attn_factor": config.rope_attn_factor,
        "final_logit_softcapping": config.final_softcap,
        "attn_logit_softcapping": config.attn_softcap,
    }
    if config.rope_scaling is not None:
        local["rope.scaling.type"] = config.rope_scaling
        local["rope.scaling.factor"] = config.rope_factor
        local["rope.scaling.original_context_length"] = config.rope_original_context
    keys = {f"{arch}.{name}": _stored_type(name, value) for name, value in local.items() if value is not None}
    return {"general.name": f"tiny {arch}", **keys, **vocabulary(tokenizer, config.n_vocab), **config.extra_metadata}


def _stored_type(name: str, value: Any) -> Any:
    """llama.cpp refuses a number of another type than it expects, so whole floats must stay floats."""
    floats = ("rope.freq", "rope.scaling.factor", "rope.scaling.attn", "final_logit", "attn_logit")
    return float(value) if name.startswith(floats) else value


def vocabulary(kind: str, n_vocab: int) -> dict[str, Any]:
    """Tokenizer keys: "none", "bpe" (bytes and a few merges) or "spm" (byte tokens, letters, fillers)."""
    if kind == "none":
        return {"tokenizer.ggml.model": "no_vocab"}
    found = {"bpe": _bpe, "spm": _spm}[kind](n_vocab)
    if len(found["tokens"]) != n_vocab:
        raise ValueError(f"a {kind} vocabulary needs more than {n_vocab} tokens")
    return {f"tokenizer.ggml.{name}": value for name, value in found.items()}


def _spm(n_vocab: int) -> dict[str, Any]:
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), "\u2581"]
    tokens += [chr(code) for code in range(ord("a"), ord("z") + 1)]
    types = [2, 3, 3] + [6] * 256 + [1] * 27
    fillers = range(len(tokens), n_vocab)
    tokens += [f"\u2581w{i}" for i in fillers]
    types += [1] * len(fillers)
    special = {"bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0, "add_bos_token": True}
    scores = [-float(i) for i in range(len(tokens))]
    return {"model": "llama", "tokens": tokens, "scores": scores, "token_type": types, **special}


def _bpe(n_vocab: int) -> dict[str, Any]:
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    # GPT-2's byte alphabet: bytes without a glyph stand at 256 and up.
    tokens = [chr(byte) for byte in printable] + [chr(256 + i) for i in range(len(others))]
    merges = ["h e", "l l", "he ll", "hell o", "\u0120 w", "\u0120 t"]
    tokens += [merge.replace(" ", "") for merge in merges]
    end = len(tokens)
    tokens.append("<|endoftext|>")
    types = [1] * end + [3]
    fillers = range(len(tokens), n_vocab)
    tokens += [f"<|pad{i}|>" for i in fillers]
    types += [5] * len(fillers)
    special = {"bos_token_id": end, "eos_token_id": end, "add_bos_token": False}
    return {"model": "gpt2", "pre": "gpt-2", "tokens": tokens, "token_type": types, "merges": merges, **special}


def tensors(config: TinyConfig, seed: int) -> Iterator[tuple[str, FloatArray]]:
    """Names and float values, in file order; a value depends on seed, name and shape only."""
    for name, shape in _shapes(config):
        rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
        if name.endswith(".bias"):
            yield name, _bias(name, shape, config, rng)
        elif len(shape) == 1:
            # Larger norms behind gemma3's blocks: else its big tied embedding makes it repeat one token.
            scale = 3.0 if ".post_" in name else 1.0
            yield name, (scale * rng.uniform(0.5, 1.5, shape)).astype(np.float32)
        else:
            yield name, (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)
    if config.rope_freqs is not None:
        yield "rope_freqs.weight", np.asarray(config.rope_freqs, np.float32)


def _shapes(config: TinyConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    tied = config.arch == "gemma3" if config.tied is None else config.tied
    biases = config.biases
    if biases is None:
        biases = ("attn_q", "attn_k", "attn_v") if config.arch == "qwen2" else ()
    yield "token_embd.weight", (config.n_vocab, config.n_embd)
    yield "output_norm.weight", (config.n_embd,)
    if not tied:
        yield "output.weight", (config.n_vocab, config.n_embd)
    if "output" in biases:
        yield "output.bias", (config.n_vocab,)
    for layer in range(config.layers):
        for stem, shape in _block(config).items():
            yield f"blk.{layer}.{stem}.weight", shape
            if stem in biases:
                yield f"blk.{layer}.{stem}.bias", shape[:1]


def _block(config: TinyConfig) -> dict[str, tuple[int, ...]]:
    width, head, value = config.n_embd, config.head_dim, config.value_length
    shapes: dict[str, tuple[int, ...]] = {"attn_norm": (width,)}
    shapes["attn_q"] = (config.n_head * head, width)
    shapes["attn_k"] = (config.n_kv * head, width)
    shapes["attn_v"] = (config.n_kv * value, width)
    shapes["attn_output"] = (width, config.n_head * value)
    if config.arch in ("qwen3", "gemma3"):
        shapes |= {"attn_q_norm": (head,), "attn_k_norm": (head,)}
    if config.arch == "gemma3":
        shapes |= {"post_attention_norm": (width,), "post_ffw_norm": (width,)}
    shapes |= {"ffn_norm": (width,), "ffn_gate": (config.n_ff, width), "ffn_up": (config.n_ff, width)}
    return shapes | {"ffn_down": (width, config.n_ff)}


def _bias(name: str, shape: tuple[int, ...], config: TinyConfig, rng: np.random.Generator) -> FloatArray:
    """Around 1, but for two channels of every key head that reach 0.8 to 1.3 times the magnitude.

    Qwen2 models really have such keys. Queries stay small: two large sides would leave a one-hot softmax.
    """
    values = rng.standard_normal(shape)
    if name.endswith("attn_k.bias"):
        heads = values.reshape(config.n_kv, config.head_dim)
        for row in heads:
            channels = rng.choice(config.head_dim, 2, replace=False)
            row[channels] = config.bias_magnitude * rng.uniform(0.8, 1.3, 2) * rng.choice([-1.0, 1.0], 2)
    return values.astype(np.float32)
