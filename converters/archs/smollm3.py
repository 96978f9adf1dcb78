"""SmolLM 3: Llama with layers that have no positions."""

from collections.abc import Container

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace, windows
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, ModelSpec

NOPE_STEP = 4  # every fourth layer: files have no key for it


def hugging_face(spec: ModelSpec, tensors: Container[str]) -> HuggingFace:
    """Which layers have positions."""
    turned = [int(mixer.rope is not None) for mixer in spec.modules() if isinstance(mixer, Attention)]
    values = {"no_rope_layers": turned, "no_rope_layer_interval": NOPE_STEP, **windows(spec)}
    return HuggingFace("smollm3", "SmolLM3ForCausalLM", values=values, optimum=("kv_heads",))


@architecture("smollm3", "SmolLM 3", hugging_face)
def smollm3(h: Hparams) -> ModelSpec:
    """Every fourth layer is NoPE."""
    rotary = rope(h, head_dim(h), interleaved=True)

    def mixer(i: int) -> Attention:
        return attention(h, rotary if (i + 1) % NOPE_STEP else None)

    return decoder(h, stack(h, mixer, gated_mlp(h)), rms_norm(h), genai_type="smollm3")
