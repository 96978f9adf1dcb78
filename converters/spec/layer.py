"""A layer: blocks between the residual stream and itself, each with a module."""

from dataclasses import dataclass

STREAM, LAYER_INPUT = "stream", "layer_input"  # what a block reads


@dataclass(frozen=True)
class Module:
    """A mechanism between the residual stream and itself: one dataclass here, one file in `converters.blocks`."""


@dataclass(frozen=True)
class Block:
    """A module between the residual stream and itself: what it reads is normed, its result normed, scaled and added.

    `norm` and `post_norm` are names below `blk.N.`, None where there is none. `reads`: the stream as the blocks before
    left it, or the layer's input; the results of blocks that read one input are added up before they join the stream,
    unless others stand between them.
    """

    module: Module
    norm: str | None
    post_norm: str | None = None
    scale: float = 1.0
    reads: str = STREAM


@dataclass(frozen=True)
class Layer:
    """Blocks, whose tensors are named `blk.{index}.*`, in their order; most models have two.

    `closing_norm` names a norm that the residual stream becomes behind the layer; `closing_scale` multiplies it there.
    """

    index: int
    blocks: tuple[Block, ...]
    closing_norm: str | None = None
    closing_scale: float = 1.0
