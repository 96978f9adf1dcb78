"""Published shapes of models for `random_models.py`: keys of their metadata, and the tensors of each layer."""

from collections.abc import Iterator
from typing import Any

MIXES = {"q4_k_m": ("Q4_K", "Q6_K"), "q4_0": ("Q4_0", "Q4_0"), "q8_0": ("Q8_0", "Q8_0"),
         "mxfp4": ("MXFP4", "Q8_0")}  # most matrices, better ones  # fmt: skip
BASE = {"context_length": 8192, "attention.layer_norm_rms_epsilon": 1e-5}
# Every sixth layer sees all, with heads of its own; key heads are those of local and of global layers.
GEMMA4: dict[str, Any] = {
    "attention.key_length": 512, "attention.value_length": 512, "attention.key_length_swa": 256,
    "attention.value_length_swa": 256, "rope.dimension_count": 512, "rope.dimension_count_swa": 256,
    "rope.freq_base": 1e6, "rope.freq_base_swa": 1e4, "attention.sliding_window": 1024,
    "attention.sliding_window_pattern": 6, "attention.shared_kv_layers": 0, "embedding_length_per_layer_input": 0,
    "attention.layer_norm_rms_epsilon": 1e-6, "final_logit_softcapping": 30.0, "vocab_size": 262144,
}  # fmt: skip
SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama-1.5b": ("llama", {
        "embedding_length": 2048, "feed_forward_length": 8192, "block_count": 22, "attention.head_count": 32,
        "attention.head_count_kv": 8, "vocab_size": 32000,
    }),
    "llama-8b": ("llama", {
        "embedding_length": 4096, "feed_forward_length": 14336, "block_count": 32, "attention.head_count": 32,
        "attention.head_count_kv": 8, "vocab_size": 128256,
    }),
    "qwen35-2b": ("qwen35", {
        "embedding_length": 2048, "feed_forward_length": 6144, "block_count": 24, "attention.head_count": 8,
        "attention.head_count_kv": 2, "attention.key_length": 256, "attention.value_length": 256,
        "rope.dimension_count": 64, "rope.dimension_sections": [11, 11, 10, 0], "full_attention_interval": 4,
        "ssm.conv_kernel": 4, "ssm.inner_size": 2048, "ssm.state_size": 128, "ssm.time_step_rank": 16,
        "ssm.group_count": 16, "vocab_size": 248320,
    }),
    "mamba2-1.4b": ("mamba2", {  # state-spaces/mamba2-1.3b with a head of its own
        "embedding_length": 2048, "feed_forward_length": 0, "block_count": 48, "attention.head_count": 0,
        "ssm.conv_kernel": 4, "ssm.inner_size": 4096, "ssm.state_size": 128, "ssm.time_step_rank": 64,
        "ssm.group_count": 1, "vocab_size": 50288,
    }),
    "qwen3-30b-a3b": ("qwen3moe", {
        "embedding_length": 2048, "expert_feed_forward_length": 768, "expert_count": 128, "expert_used_count": 8,
        "block_count": 48, "attention.head_count": 32, "attention.head_count_kv": 4, "attention.key_length": 128,
        "attention.value_length": 128, "rope.freq_base": 1e6, "vocab_size": 151936,
    }),
    "gemma4-e4b": ("gemma4", GEMMA4 | {
        "embedding_length": 2560, "feed_forward_length": 10240, "block_count": 42, "attention.head_count": 8,
        "attention.head_count_kv": [2, 2], "attention.shared_kv_layers": 18, "attention.sliding_window": 512,
        "embedding_length_per_layer_input": 256,
    }),
    "gemma4-31b": ("gemma4", GEMMA4 | {
        "embedding_length": 5376, "feed_forward_length": 21504, "block_count": 60, "attention.head_count": 32,
        "attention.head_count_kv": [16, 4],
    }),
    "gemma4-26b-a4b": ("gemma4", GEMMA4 | {
        "embedding_length": 2816, "feed_forward_length": 2112, "block_count": 30, "attention.head_count": 16,
        "attention.head_count_kv": [8, 2], "expert_count": 128, "expert_used_count": 8,
        "expert_feed_forward_length": 704,
    }),
    "gpt-oss-20b": ("gpt-oss", {
        "embedding_length": 2880, "expert_feed_forward_length": 2880, "expert_count": 32, "expert_used_count": 4,
        "block_count": 24, "attention.head_count": 64, "attention.head_count_kv": 8, "attention.key_length": 64,
        "attention.value_length": 64, "attention.sliding_window": 128, "rope.freq_base": 150000.0, "vocab_size": 201088,
    }),
}  # fmt: skip
# name; "most", "better", "float", "half", "turned", "router" or a number; shape
Tensor = tuple[str, str | float, tuple[int, ...]]


def llama_layer(p: dict[str, Any], layer: int, good: str) -> Iterator[Tensor]:
    hidden, width = p["embedding_length"], p["feed_forward_length"]
    kv = p["attention.head_count_kv"] * hidden // p["attention.head_count"]
    yield "attn_norm", "float", (hidden,)
    yield "ffn_norm", "float", (hidden,)
    yield "attn_q", "most", (hidden, hidden)
    yield "attn_k", "most", (kv, hidden)
    yield "attn_v", good, (kv, hidden)
    yield "attn_output", "most", (hidden, hidden)
    yield from feed_forward(hidden, width, good)


def qwen35_layer(p: dict[str, Any], layer: int, good: str) -> Iterator[Tensor]:
    hidden, inner, heads = p["embedding_length"], p["ssm.inner_size"], p["ssm.time_step_rank"]
    yield "attn_norm", "float", (hidden,)
    yield "post_attention_norm", "float", (hidden,)
    if (layer + 1) % p["full_attention_interval"]:
        channels = inner + 2 * p["ssm.group_count"] * p["ssm.state_size"]
        yield "attn_qkv", "better", (channels, hidden)
        yield "attn_gate", "most", (inner, hidden)
        yield "ssm_conv1d", "float", (channels, p["ssm.conv_kernel"])
        yield "ssm_dt.bias", "float", (heads,)
        yield "ssm_a", "float", (heads,)
        yield "ssm_norm", "float", (inner // heads,)
        yield "ssm_alpha", "most", (heads, hidden)
        yield "ssm_beta", "most", (heads, hidden)
        yield "ssm_out", "most", (hidden, inner)
    else:
        dim = p["attention.key_length"]
        q, kv = p["attention.head_count"] * dim, p["attention.head_count_kv"] * dim
        yield "attn_q", "most", (2 * q, hidden)
        yield "attn_k", "most", (kv, hidden)
        yield "attn_v", good, (kv, hidden)
        yield "attn_output", "most", (hidden, q)
        yield "attn_q_norm", "float", (dim,)
        yield "attn_k_norm", "float", (dim,)
    yield from feed_forward(hidden, p["feed_forward_length"], good)


def mamba2_layer(p: dict[str, Any], layer: int, good: str) -> Iterator[Tensor]:
    hidden, inner, heads = p["embedding_length"], p["ssm.inner_size"], p["ssm.time_step_rank"]
    channels = inner + 2 * p["ssm.group_count"] * p["ssm.state_size"]
    yield "attn_norm", "float", (hidden,)
    yield "ssm_in", "most", (inner + channels + heads, hidden)
    yield "ssm_conv1d", "float", (channels, p["ssm.conv_kernel"])
    yield "ssm_conv1d.bias", "float", (channels,)
    yield "ssm_dt.bias", "float", (heads,)
    yield "ssm_a", "float", (heads, 1)
    yield "ssm_d", "float", (heads, 1)
    yield "ssm_norm", "float", (p["ssm.group_count"], inner // p["ssm.group_count"])
    yield "ssm_out", "most", (hidden, inner)


def feed_forward(hidden: int, width: int, good: str) -> Iterator[Tensor]:
    yield "ffn_gate", "most", (width, hidden)
    yield "ffn_up", "most", (width, hidden)
    yield "ffn_down", good, (hidden, width)


def experts_layer(p: dict[str, Any], layer: int, good: str) -> Iterator[Tensor]:
    hidden, width, count, dim = (
        p[key] for key in ("embedding_length", "expert_feed_forward_length", "expert_count", "attention.key_length")
    )
    q, kv = p["attention.head_count"] * dim, p["attention.head_count_kv"] * dim
    yield "attn_norm", "float", (hidden,)
    yield "ffn_norm", "float", (hidden,)
    yield "attn_q_norm", "float", (dim,)
    yield "attn_k_norm", "float", (dim,)
    yield "attn_q", "most", (q, hidden)
    yield "attn_k", "most", (kv, hidden)
    yield "attn_v", good, (kv, hidden)
    yield "attn_output", "most", (hidden, q)
    yield "ffn_gate_inp", "router", (count, hidden)
    yield "ffn_gate_exps", "most", (count, width, hidden)
    yield "ffn_up_exps", "most", (count, width, hidden)
    yield "ffn_down_exps", good, (count, hidden, width)


def gpt_oss_layer(p: dict[str, Any], layer: int, good: str) -> Iterator[Tensor]:
    hidden, width, count, dim = (
        p[key] for key in ("embedding_length", "expert_feed_forward_length", "expert_count", "attention.key_length")
    )
    q, kv = p["attention.head_count"] * dim, p["attention.head_count_kv"] * dim
    yield "attn_norm", "float", (hidden,)
    yield "post_attention_norm", "float", (hidden,)
    yield "attn_sinks", "float", (p["attention.head_count"],)
    for name, rows, columns in (("q", q, hidden), ("k", kv, hidden), ("v", kv, hidden), ("output", hidden, q)):
        yield f"attn_{name}", "better", (rows, columns)
        yield f"attn_{name}.bias", "float", (rows,)
    yield "ffn_gate_inp", "router", (count, hidden)
    yield "ffn_gate_inp.bias", "float", (count,)
    for name, rows, columns in (("gate", width, hidden), ("up", width, hidden), ("down", hidden, width)):
        yield f"ffn_{name}_exps", "most", (count, rows, columns)
        yield f"ffn_{name}_exps.bias", "float", (count, rows)


def gemma4_keys(p: dict[str, Any], layers: int) -> dict[str, Any]:
    """Of each layer what the shape says once; of fewer `layers` than it has, whole periods share caches."""
    period, count = p["attention.sliding_window_pattern"], p["block_count"]
    local = [(layer + 1) % period > 0 for layer in range(count)]
    near, far = p["attention.head_count_kv"]
    return {
        "attention.sliding_window_pattern": local,
        "attention.head_count_kv": [near if one else far for one in local],
        "attention.shared_kv_layers": p["attention.shared_kv_layers"] * count // (layers * period) * period,
    }


def gemma4_layer(p: dict[str, Any], layer: int, good: str) -> Iterator[Tensor]:
    hidden, local = p["embedding_length"], p["attention.sliding_window_pattern"][layer]
    dim, kv_heads = p["attention.key_length_swa" if local else "attention.key_length"], p["attention.head_count_kv"]
    q, kv = p["attention.head_count"] * dim, kv_heads[layer] * dim
    for name in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
        yield name, "float", (hidden,)
    yield "layer_output_scale", 0.5, (1,)
    yield "attn_q", "most", (q, hidden)
    yield "attn_output", "most", (hidden, q)
    yield "attn_q_norm", dim**-0.5, (dim,)  # scores have no other scale
    if layer < p["block_count"] - p["attention.shared_kv_layers"]:
        yield "attn_k", "most", (kv, hidden)
        yield "attn_k_norm", "float", (dim,)
        if local or min(kv_heads) == max(kv_heads):  # else keys are the values of global layers
            yield "attn_v", good, (kv, hidden)
    yield from feed_forward(hidden, p["feed_forward_length"], good)
    if count := p.get("expert_count", 0):
        for name in ("post_ffw_norm_1", "pre_ffw_norm_2", "post_ffw_norm_2"):
            yield name, "float", (hidden,)
        yield "ffn_gate_inp", "router", (count, hidden)
        yield "ffn_gate_inp.scale", hidden**0.5, (hidden,)
        yield "ffn_gate_up_exps", "most", (count, 2 * p["expert_feed_forward_length"], hidden)
        yield "ffn_down_exps", good, (count, hidden, p["expert_feed_forward_length"])
        yield "ffn_down_exps.scale", "float", (count,)
    if width := p["embedding_length_per_layer_input"]:
        yield "inp_gate", "most", (width, hidden)
        yield "proj", "most", (hidden, width)
        yield "post_norm", "float", (hidden,)


def gemma4_whole(p: dict[str, Any]) -> Iterator[Tensor]:
    hidden, width = p["embedding_length"], p["embedding_length_per_layer_input"]
    yield "token_embd.weight", "better", (p["vocab_size"], hidden)
    yield "output_norm.weight", "float", (hidden,)
    yield "rope_freqs.weight", "turned", (p["attention.key_length"] // 2,)
    if width:
        yield "per_layer_token_embd.weight", "better", (p["vocab_size"], p["block_count"] * width)
        yield "per_layer_model_proj.weight", "half", (p["block_count"] * width, hidden)
        yield "per_layer_proj_norm.weight", "float", (width,)


def whole(p: dict[str, Any], role: str) -> Iterator[Tensor]:
    yield "token_embd.weight", role, (p["vocab_size"], p["embedding_length"])
    yield "output_norm.weight", "float", (p["embedding_length"],)
    yield "output.weight", "better", (p["vocab_size"], p["embedding_length"])


BARE = (  # names without the ending of weights
    "ssm_conv1d.bias", "ssm_dt.bias", "ssm_a", "ssm_d", "ffn_gate_inp.scale", "ffn_down_exps.scale",
)  # fmt: skip
LAYERS = {
    "llama": llama_layer, "qwen35": qwen35_layer, "mamba2": mamba2_layer, "qwen3moe": experts_layer,
    "gpt-oss": gpt_oss_layer, "gemma4": gemma4_layer,
}  # fmt: skip


def tensors(arch: str, p: dict[str, Any]) -> Iterator[Tensor]:
    """All of a model; the better type goes where llama.cpp's Q4_K_M has it: values and down of half of the layers."""
    count = p["block_count"]
    yield from gemma4_whole(p) if arch == "gemma4" else whole(p, "better" if arch == "gpt-oss" else "most")
    for layer in range(count):
        good = "better" if layer < count // 8 or layer >= 7 * count // 8 or layer % 3 == 2 else "most"
        for name, role, shape in LAYERS[arch](p, layer, good):
            tail = "" if name in BARE or name.endswith(".bias") else ".weight"
            yield f"blk.{layer}.{name}{tail}", role, shape
