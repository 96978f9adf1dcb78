"""Bars on a scale from zero, in percent of the longest, and the numbers beside them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self


def figures(number: float, beside: float) -> str:
    """A number with as many decimals as one of the size of `beside` deserves."""
    return f"{number:,.{0 if beside >= 1000 else 1 if beside >= 100 else 2}f}"


@dataclass(frozen=True)
class Speed:
    """Tokens per second: mean and standard deviation of the samples."""

    mean: float
    spread: float

    @property
    def low(self) -> float:
        """Where the whisker begins: not below 0, which no speed is."""
        return max(0.0, self.mean - self.spread)

    @property
    def high(self) -> float:
        """Where it ends."""
        return self.mean + self.spread

    @property
    def words(self) -> tuple[str, str]:
        """Both, with the decimals of the mean."""
        return figures(self.mean, self.mean), f"± {figures(self.spread, self.mean)}"


@dataclass(frozen=True)
class Bar:
    """A bar and its whisker, all from zero, in percent of the longest.

    Attributes:
        width: of the bar.
        low: where the whisker begins.
        high: where it ends.
    """

    width: float
    low: float
    high: float

    @classmethod
    def of(cls, speed: Speed, longest: float) -> Self:
        """A speed on a scale that ends at `longest` tokens per second."""
        return cls(*(100 * value / longest for value in (speed.mean, speed.low, speed.high)))


def longest(speeds: Iterable[Speed | None]) -> float:
    """The end of the scale on which all of these have room with their whiskers."""
    return max(speed.high for speed in speeds if speed is not None)
