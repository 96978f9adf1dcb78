"""What models with recurrent layers share when their numbers are read."""

from converters.archs.common import layer_count
from converters.archs.hparams import Hparams
from converters.spec import GatedDeltaNet
from repack.errors import MobiusError


def recurrent_layers(h: Hparams, interval: int) -> list[bool]:
    """Which layers carry a state of fixed size: by flags per layer, or all but every `interval`-th."""
    count, given = layer_count(h), h.raw("attention.recurrent_layers")
    every = h.positive("full_attention_interval", interval)
    if given is None:
        return [(layer + 1) % every != 0 for layer in range(count)]
    flags = [bool(flag) for flag in given] if not isinstance(given, (bool, int)) else [bool(given)] * count
    if len(flags) not in (count, h.positive("block_count")):
        raise MobiusError(
            f"{h.architecture}.attention.recurrent_layers has {len(flags)} entries for {count} layers",
            "the metadata is damaged",
        )
    return flags[:count]


def layers_without_heads(h: Hparams) -> list[bool]:
    """Which layers carry a state of fixed size: those that have no key/value heads."""
    return [h.at("attention.head_count_kv", layer) == 0 for layer in range(layer_count(h))]


def kernel(h: Hparams, key: str = "ssm.conv_kernel") -> int:
    """Tokens that a short convolution sees; a state needs at least one beside the current one."""
    found = h.positive(key)
    if found < 2:
        raise MobiusError(f"{h.architecture}.{key} is {found}, not at least 2", "the metadata is damaged")
    return found


def gated_delta_net(h: Hparams, *, tiled: bool) -> GatedDeltaNet:
    """Heads and channels under the keys of state-space models, as llama.cpp reads them."""
    heads, key_heads = h.positive("ssm.time_step_rank"), h.positive("ssm.group_count")
    dim, inner = h.positive("ssm.state_size"), h.positive("ssm.inner_size")
    if heads % key_heads or inner != heads * dim:  # llama.cpp stops here too
        raise MobiusError(
            f"{heads} value heads of {inner} channels do not go with {key_heads} key heads of {dim}",
            "the metadata is damaged or unusual",
        )
    return GatedDeltaNet(heads, key_heads, dim, inner // heads, kernel(h), tiled)
