"""QRWKV 6: Qwen 2's layers with time mixing for attention."""

from tests.support.any_arch import Case

KEYS = {
    "block_count": 3, "attention.head_count": 0, "attention.head_count_kv": 2, "wkv.head_size": 64,
    "time_mix_extra_dim": 32, "time_decay_extra_dim": 64, "token_shift_count": 1,
}  # fmt: skip
UNUSED = ("time_mix_first", r"output_norm\.bias")
VALUES = {"time_mix_decay.weight": lambda rng, shape: rng.uniform(-4, 0, shape)}
CASES = {
    name: Case("rwkv6qwen2", **{"drop": UNUSED, "values": VALUES, "keys": {**KEYS, **keys}, **options})
    for name, keys, options in (
        ("usual", {}, {}),
        ("as many key heads, no biases", {"attention.head_count_kv": 0}, {"drop": (*UNUSED, r"\.bias$")}),
        ("small heads, other ranks", {"wkv.head_size": 32, "time_mix_extra_dim": 8, "time_decay_extra_dim": 24}, {}),
    )
}
