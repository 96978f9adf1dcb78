"""The words in which architectures are declared."""

from converters.spec.attention import Attention, HeadNorm, LatentAttention, LinearMixer, QueryTemperature
from converters.spec.experts import (
    SIGMOID,
    SIGMOID_OF_CHOSEN,
    SOFTMAX,
    SOFTMAX_OF_CHOSEN,
    DenseAndExperts,
    Experts,
    GroveExperts,
    Router,
)
from converters.spec.layer import CORRECTED, LAYER_INPUT, STREAM, Block, Layer, Module
from converters.spec.mlp import ClampedSwiglu, Laurel, LimitedSwiglu, Mlp, Xielu
from converters.spec.model import ModelSpec, Norm, Streams
from converters.spec.per_layer import PerLayerEmbedding, PerLayerInput
from converters.spec.recurrent import (
    ChannelMix,
    GatedDeltaNet,
    GatedShortConv,
    KeyedDeltaNet,
    Mamba,
    Mamba2,
    ProjectedSpace,
    ReplacingMix,
    StateSpace,
    TimeMix,
)
from converters.spec.rope import ContextFactors, LinearScaling, Rope, YarnScaling

__all__ = [
    "CORRECTED", "LAYER_INPUT", "SIGMOID", "SIGMOID_OF_CHOSEN", "SOFTMAX", "SOFTMAX_OF_CHOSEN", "STREAM", "Attention",
    "Block", "ChannelMix", "ClampedSwiglu", "ContextFactors", "DenseAndExperts", "Experts", "GatedDeltaNet",
    "GatedShortConv", "GroveExperts", "HeadNorm", "KeyedDeltaNet", "LatentAttention", "Laurel", "Layer",
    "LimitedSwiglu", "LinearMixer", "LinearScaling", "Mamba", "Mamba2", "Mlp", "ModelSpec", "Module", "Norm",
    "PerLayerEmbedding", "PerLayerInput", "ProjectedSpace", "QueryTemperature", "ReplacingMix", "Rope", "Router",
    "StateSpace", "Streams", "TimeMix", "Xielu", "YarnScaling",
]  # fmt: skip
