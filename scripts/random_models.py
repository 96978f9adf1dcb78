#!/usr/bin/env python3
"""Write GGUF files of random weights in published shapes: enough to measure speed and memory.

usage: python scripts/random_models.py SHAPE MIX OUT.gguf [LAYERS [EXPERTS]]

shapes: llama-1.5b, llama-8b, qwen35-2b, mamba2-1.4b, qwen3-30b-a3b, gpt-oss-20b, gemma4-e4b, gemma4-31b,
gemma4-26b-a4b (random_shapes.py); mixes: q4_k_m, q4_0, q8_0, mxfp4

The same random blocks serve all layers and experts, so a file takes seconds. Its tokenizer is made up; its logits mean
nothing.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from random_shapes import BASE, MIXES, SHAPES, gemma4_keys, tensors

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def write_random(path: Path, shape: str, mix: str, *sizes: int) -> None:
    """A whole file; `sizes` are other numbers of layers and of experts than the shape's."""
    import gguf

    arch, own = SHAPES[shape]
    p = {**BASE, **own, **dict(zip(("block_count", "expert_count"), sizes, strict=False))}
    if arch == "gemma4":
        p |= gemma4_keys(p, own["block_count"])
    writer = gguf.GGUFWriter(path, arch)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    letters = [chr(c) for c in range(33, 127)]
    writer.add_token_list(letters + [f"<{i}>" for i in range(p["vocab_size"] - len(letters))])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(0)
    for key, value in p.items():
        add = {int: writer.add_uint32, float: writer.add_float32, list: writer.add_array}[type(value)]
        add(f"{arch}.{key}", value)
    kinds = dict(zip(("most", "better"), MIXES[mix], strict=True))
    made: dict[tuple[str, tuple[int, ...]], Any] = {}
    for name, role, size in tensors(arch, p):
        if role == "float" or isinstance(role, float):
            number = role if isinstance(role, float) else -0.5 if name.endswith("ssm_a") else 1.0
            writer.add_tensor(name, np.full(size, number, np.float32))
            continue
        if role == "turned":  # a quarter of the pairs
            writer.add_tensor(name, np.where(np.arange(*size) < size[0] // 4, 1, 1e30).astype(np.float32))
            continue
        if role == "half":
            writer.add_tensor(name, (0.02 * np.random.default_rng(0).standard_normal(size, np.float32)).astype("f2"))
            continue
        if role == "router":  # each layer another one: tokens take different experts
            draws = np.random.default_rng(len(name) + int(name.split(".")[1])).standard_normal(size)
            writer.add_tensor(name, (0.05 * draws).astype(np.float32))
            continue
        kind = kinds[role]
        if size[-1] % 256:  # as llama.cpp does
            kind = {"Q4_K": "Q5_0", "Q6_K": "Q8_0"}.get(kind, kind)
        if (kind, size) not in made:
            made[kind, size] = random_matrix(kind, *size)
        writer.add_tensor(name, made[kind, size], raw_dtype=gguf.GGMLQuantizationType[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def random_matrix(kind: str, *size: int) -> Any:
    """uint8 [.., rows, bytes]: random codes, scales that make weights of deviation about 0.02; experts are alike."""
    from repack.quant_type import BLOCK_SIZES

    *stack, rows, columns = size
    weights, nbytes = BLOCK_SIZES[kind]
    raw = np.random.default_rng(0).integers(0, 256, (rows * columns // weights, nbytes), dtype=np.uint8)
    fields = {
        "Q4_0": {0: 4e-3}, "Q5_0": {0: 2e-3}, "Q8_0": {0: 3e-4}, "Q4_K": {0: 1.3e-4, 2: 1.0e-3}, "Q6_K": {208: 1.5e-5},
    }.get(kind, {})  # fmt: skip
    for offset, value in fields.items():
        raw[:, offset : offset + 2] = np.array([value], np.float16).view(np.uint8)
    if kind == "MXFP4":
        raw[:, 0] = 120  # the exponent: 2 ** -7 times numbers of deviation 2.9
    return np.broadcast_to(raw.reshape(rows, -1), (*stack, rows, raw.size // rows)).copy()


if __name__ == "__main__":
    numbers = sys.argv[4:]
    if not 4 <= len(sys.argv) <= 6 or sys.argv[1] not in SHAPES or sys.argv[2] not in MIXES:
        sys.exit(__doc__)
    if not all(number.isdecimal() for number in numbers):
        sys.exit(__doc__)
    write_random(Path(sys.argv[3]), sys.argv[1], sys.argv[2], *map(int, numbers))
