"""Falcon H1: attention and a state space side by side in every layer."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, layer_count, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.recurrent import mamba2_mixer
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import LAYER_INPUT, Block, Layer, ModelSpec

UNUSED = ("rope_freqs.weight", "blk.*.attn_output.bias")  # that llama.cpp loads


@architecture("falcon-h1", "Falcon H1")
def falcon_h1(h: Hparams) -> ModelSpec:
    """Both read one normed input, and their results join the stream together; the matrices hold all multipliers."""
    attends, feeds = attention(h, rope(h, head_dim(h), partial=True)), gated_mlp(h)

    def layer(i: int) -> Layer:
        scans = mamba2_mixer(h, normed=h.has_tensor(f"blk.{i}.ssm_norm.weight"))
        beside = Block(scans, "attn_norm", reads=LAYER_INPUT)
        return Layer(i, (Block(attends, "attn_norm"), beside, Block(feeds, "ffn_norm")))

    return decoder(h, tuple(layer(i) for i in range(layer_count(h))), rms_norm(h), ignored=UNUSED)
