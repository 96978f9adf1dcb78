"""What a model is, in numbers only: the one description that everything downstream reads."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from converters.spec.attention import Attention, LatentAttention
from converters.spec.layer import Layer, Module
from converters.spec.mlp import Mlp
from converters.spec.per_layer import PerLayerEmbedding


@dataclass(frozen=True)
class Norm:
    """The kind of all norms of a model: "rms" or "layer"; some have no weights.

    `biased`: rms norms add the biases that the file has, as layer norms always do.
    """

    kind: str
    epsilon: float
    weights: bool = True
    biased: bool = False


@dataclass(frozen=True)
class Streams:
    """`count` residual streams side by side (AltUp, arXiv 2301.13310).

    Layers read a prediction of the first one, and correct them all by their result; the head reads their mean.
    """

    count: int


@dataclass(frozen=True)
class ModelSpec:
    """A decoder-only model.

    `embedding` and `head` name matrices (`token_embd`, `output`), `output_norm` the norm before the head.
    `embedding_norm`: the embeddings are normed; `plain_embedding_norm`: so they are, without weights.
    `logit_scale` multiplies the logits.
    `ignored`: patterns of tensors that llama.cpp loads and never uses.
    `per_layer`: embeddings of each layer's own, which PerLayerInput reads. `streams`: None where there is one.
    `wide_residual`: the residual stream exceeds float16's 65504, so it stays float32 in float16 graphs.
    """

    architecture: str
    genai_type: str
    hidden: int
    vocab: int
    context_length: int
    norm: Norm
    layers: tuple[Layer, ...]
    embedding: str = "token_embd"
    head: str = "output"
    output_norm: str = "output_norm"
    embedding_scale: float = 1.0
    embedding_norm: bool = False
    plain_embedding_norm: bool = False
    learned_positions: bool = False
    logit_scale: float = 1.0
    final_softcap: float = 0.0
    per_layer: PerLayerEmbedding | None = None
    streams: Streams | None = None
    ignored: tuple[str, ...] = ()
    wide_residual: bool = False

    def modules(self) -> Iterator[Module]:
        """Of all blocks of all layers, in order, each before its parts."""
        return (part for layer in self.layers for block in layer.blocks for part in block.module.parts())

    @property
    def attention(self) -> Attention | LatentAttention | None:
        """The first block's that attends; None in a model without attention."""
        return next((m for m in self.modules() if isinstance(m, (Attention, LatentAttention))), None)

    @property
    def mlp(self) -> Mlp | None:
        """The first feed-forward."""
        return next((m for m in self.modules() if isinstance(m, Mlp)), None)

    @property
    def tied_head(self) -> bool:
        """Whether embedding and head are one matrix."""
        return self.embedding == self.head

    def as_dict(self) -> dict[str, Any]:
        """For JSON: nested dictionaries of plain numbers; a module also says what it is."""
        found = asdict(self)
        for layer, entry in zip(self.layers, found["layers"], strict=True):
            for block, described in zip(layer.blocks, entry["blocks"], strict=True):
                described["module"] = {"kind": type(block.module).__name__, **described["module"]}
        return found | {"tied_head": self.tied_head}
