"""What models with recurrent layers share when their numbers are read."""

from converters.archs.common import layer_count
from converters.archs.hparams import Hparams
from converters.spec import GatedDeltaNet, Mamba, Mamba2, ProjectedSpace
from repack.errors import MobiusError

LEAST_RANK, RANK_SHARE = 64, 16  # of steps that are projected: hidden / 16, but no less than 64


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


def kernel(h: Hparams, key: str = "ssm.conv_kernel") -> int:
    """Tokens that a short convolution sees; a state needs at least one beside the current one."""
    found = h.positive(key)
    if found < 2:
        raise MobiusError(f"{h.architecture}.{key} is {found}, not at least 2", "the metadata is damaged")
    return found


def gated_delta_net(h: Hparams, *, grouped: bool = False) -> GatedDeltaNet:
    """Heads and channels under the keys of state-space models, as llama.cpp reads them; `grouped` as in the spec."""
    heads, key_heads = h.positive("ssm.time_step_rank"), h.positive("ssm.group_count")
    dim, inner = h.positive("ssm.state_size"), h.positive("ssm.inner_size")
    if heads % key_heads or inner != heads * dim:  # llama.cpp stops here too
        raise MobiusError(
            f"{heads} value heads of {inner} channels do not go with {key_heads} key heads of {dim}",
            "the metadata is damaged or unusual",
        )
    return GatedDeltaNet(heads, key_heads, dim, inner // heads, kernel(h), grouped)


def mamba2_mixer(h: Hparams, *, normed: bool = True) -> Mamba2:
    """Heads, groups and channels; `normed`: the gated result is."""
    heads, groups = h.positive("ssm.time_step_rank"), h.positive("ssm.group_count")
    inner = h.positive("ssm.inner_size")
    if heads % groups or inner % heads:
        raise MobiusError(
            f"{heads} heads of a state space do not go with {inner} channels in {groups} groups",
            "the metadata is damaged or unusual",
        )
    return Mamba2(heads, groups, h.positive("ssm.state_size"), inner // heads, kernel(h), normed)


def projected_space(h: Hparams) -> ProjectedSpace:
    """One group, which the file writes as none; the steps' rank is no key."""
    heads, inner = h.positive("ssm.time_step_rank"), h.positive("ssm.inner_size")
    if h.integer("ssm.group_count", 0) != 0 or inner % heads:  # llama.cpp stops here too
        raise MobiusError(
            f"{heads} heads of a state space do not go with {inner} channels in {h.raw('ssm.group_count')} groups",
            "the metadata is damaged or unusual",
        )
    rank = max(LEAST_RANK, h.positive("embedding_length") // RANK_SHARE)
    return ProjectedSpace(heads, 1, h.positive("ssm.state_size"), inner // heads, kernel(h), rank)


def without_heads(h: Hparams) -> list[bool]:
    """Which layers have no key/value heads, and so carry a state of fixed size or none."""
    key = "attention.head_count_kv"
    return [h.at(key, i, h.at("attention.head_count", i)) == 0 for i in range(layer_count(h))]


def mamba_mixer(h: Hparams, *, normed: bool) -> Mamba:
    """Channels and sizes; `normed`: the steps, B and C are."""
    inner, size, rank = (h.positive(f"ssm.{key}") for key in ("inner_size", "state_size", "time_step_rank"))
    return Mamba(inner, size, rank, kernel(h), normed)
