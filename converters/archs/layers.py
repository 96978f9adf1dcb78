"""How most models put their blocks together: attention and a feed-forward, with norms around them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from converters.archs.common import layer_count
from converters.archs.hparams import Hparams
from converters.spec import LAYER_INPUT, STREAM, Block, Layer, Module

T = TypeVar("T")


@dataclass(frozen=True)
class NormNames:
    """Names, below `blk.N.`, of the norms before and behind both blocks; None where there is none."""

    attention: str | None = "attn_norm"
    after_attention: str | None = None
    mlp: str | None = "ffn_norm"
    after_mlp: str | None = None


PRE_NORM = NormNames()
SANDWICH = NormNames("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
POST_NORM = NormNames(None, "post_attention_norm", None, "post_ffw_norm")
SHARED = NormNames("attn_norm", mlp="attn_norm")  # of layers whose two blocks see the same normed input


def layer(
    index: int,
    attention: Module,
    mlp: Module,
    norms: NormNames = PRE_NORM,
    *,
    parallel: bool = False,
    scale: float = 1.0,
) -> Layer:
    """Two blocks; `parallel`: the feed-forward reads the layer's input instead of attention's result.

    `scale` multiplies what both add.
    """
    first = Block(attention, norms.attention, norms.after_attention, scale)
    second = Block(mlp, norms.mlp, norms.after_mlp, scale, LAYER_INPUT if parallel else STREAM)
    return Layer(index, (first, second))


def stack(
    h: Hparams,
    attention: Module | Callable[[int], Module],
    mlp: Module | Callable[[int], Module],
    norms: NormNames | Callable[[int], NormNames] = PRE_NORM,
    *,
    parallel: bool | Callable[[int], bool] = False,
    scale: float = 1.0,
) -> tuple[Layer, ...]:
    """Layers 0, 1, ... of two blocks; what differs from layer to layer is a function of the layer's number."""
    return tuple(
        layer(i, _of(attention, i), _of(mlp, i), _of(norms, i), parallel=_of(parallel, i), scale=scale)
        for i in range(layer_count(h))
    )


def _of(given: T | Callable[[int], T], layer: int) -> T:
    return given(layer) if callable(given) else given
