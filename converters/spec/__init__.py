"""The words in which architectures are declared."""

from converters.spec.attention import Attention, HeadNorm, LatentAttention, LinearMixer, QueryTemperature
from converters.spec.layer import CORRECTED, LAYER_INPUT, STREAM, Block, Layer, Module
from converters.spec.mlp import Laurel, Mlp, Xielu
from converters.spec.model import ModelSpec, Norm, Streams
from converters.spec.per_layer import PerLayerEmbedding, PerLayerInput
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
    "CORRECTED", "LAYER_INPUT", "STREAM", "Attention", "Block", "ChannelMix", "ContextFactors", "GatedDeltaNet",
    "GatedShortConv", "HeadNorm", "LatentAttention", "Laurel", "Layer", "LinearMixer", "LinearScaling", "Mamba",
    "Mamba2", "Mlp", "ModelSpec", "Module", "Norm", "PerLayerEmbedding", "PerLayerInput", "ProjectedSpace",
    "QueryTemperature", "Rope", "StateSpace", "Streams", "TimeMix", "Xielu", "YarnScaling",
]  # fmt: skip
