"""CodeShell: as StarCoder 2."""

from converters.archs.common import attention, head_dim
from converters.archs.gpt2 import gpt2_like
from converters.archs.hparams import Hparams
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec


@architecture("codeshell", "CodeShell")
def codeshell(h: Hparams) -> ModelSpec:
    """Where one matrix is embedding and head, its name is that of the head."""
    shared = not h.has_tensor("token_embd.weight")
    mixer = attention(h, rope(h, head_dim(h)))
    return gpt2_like(h, mixer, embedding="output" if shared else "token_embd", tied=False)
