"""A layer: blocks between the residual stream and itself, each with a module."""

from dataclasses import dataclass
from typing import ClassVar

STREAM, LAYER_INPUT, CORRECTED = "stream", "layer_input", "corrected"  # what a block reads


@dataclass(frozen=True)
class Module:
    """A mechanism between the residual stream and itself: one dataclass here, one file in `converters.blocks`.

    `wide`: it reads and returns the type of the residual stream, whose numbers the activation type may not hold.
    """

    wide: ClassVar[bool] = False

    def parts(self) -> tuple["Module", ...]:
        """Itself, and modules that it is made of where others ask for them."""
        return (self,)


@dataclass(frozen=True)
class Block:
    """A module between the residual stream and itself: what it reads is normed, its result normed, scaled and added.

    `norm` and `post_norm` are names below `blk.N.`, None where there is none. `reads`: the stream as the blocks before
    left it, or the layer's input; the results of blocks that read one input are added up before they join the stream,
    unless others stand between them.
    In models with several streams also the first one, corrected by the layer: such a block's result joins the others.
    `stream_scale` multiplies the stream behind it. `post_epsilon` is that of the norm behind it, None the model's.
    """

    module: Module
    norm: str | None
    post_norm: str | None = None
    scale: float = 1.0
    reads: str = STREAM
    stream_scale: float = 1.0
    post_epsilon: float | None = None


@dataclass(frozen=True)
class Layer:
    """Blocks, whose tensors are named `blk.{index}.*`, in their order; most models have two.

    `closing_norm` names a norm that the residual stream becomes behind the layer; `closing_scale` multiplies it there,
    as does the one number of the tensor that `closing_weight` names below `blk.N.`.
    """

    index: int
    blocks: tuple[Block, ...]
    closing_norm: str | None = None
    closing_scale: float = 1.0
    closing_weight: str | None = None
