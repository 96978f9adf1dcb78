"""The words in which architectures are declared."""

from converters.spec.attention import Attention, HeadNorm, LatentAttention, LinearMixer, QueryTemperature
from converters.spec.experts import SIGMOID, SOFTMAX, SOFTMAX_OF_CHOSEN, Experts, GroveExperts, Router
from converters.spec.layer import LAYER_INPUT, STREAM, Block, Layer, Module
from converters.spec.mlp import ClampedSwiglu, LimitedSwiglu, Mlp, Xielu
from converters.spec.model import ModelSpec, Norm
from converters.spec.recurrent import (
    ChannelMix,
    GatedDeltaNet,
    GatedShortConv,
    Mamba,
    Mamba2,
    ProjectedSpace,
    StateSpace,
    TimeMix,
)
from converters.spec.rope import ContextFactors, LinearScaling, Rope, YarnScaling

__all__ = [
    "LAYER_INPUT", "SIGMOID", "SOFTMAX", "SOFTMAX_OF_CHOSEN", "STREAM", "Attention", "Block", "ChannelMix",
    "ClampedSwiglu", "ContextFactors", "Experts", "GatedDeltaNet", "GatedShortConv", "GroveExperts", "HeadNorm",
    "LatentAttention", "Layer", "LimitedSwiglu", "LinearMixer", "LinearScaling", "Mamba", "Mamba2", "Mlp", "ModelSpec",
    "Module", "Norm", "ProjectedSpace", "QueryTemperature", "Rope", "Router", "StateSpace", "TimeMix", "Xielu",
    "YarnScaling",
]  # fmt: skip
