"""MPT: GELU without a gate, ALiBi; much that a file may have or not."""

from converters.archs.common import decoder, layer_norm, mlp
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.nope import alibi
from converters.archs.registry import architecture
from converters.spec import Mlp, ModelSpec


@architecture("mpt", "MPT, Replit Code")
def mpt(h: Hparams) -> ModelSpec:
    """Layer norms; clamped q, k and v, biases, learned positions and AWQ's divisors where the file has them.

    Norms of q and k are refused: llama.cpp ends the process on them.
    """
    mixer = alibi(h, clip=max(0.0, h.number("attention.clamp_kqv", 0.0)))

    def feed_forward(i: int) -> Mlp:
        return mlp(h, "gelu_tanh", divisors=h.has_tensor(f"blk.{i}.ffn.act.scales"))

    return decoder(
        h,
        stack(h, mixer, feed_forward),
        layer_norm(h),
        learned_positions=h.has_tensor("position_embd.weight"),
        ignored=("blk.*.attn_k_norm.*",),  # alone it is loaded only
    )
