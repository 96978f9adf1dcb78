"""Tests of `mobius bench`, their samples, and the record of each under llama-bench's field names."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mobius_cli.reports.bars import Speed

NOISY = 0.1  # standard deviation over mean from which a test is flagged


@dataclass(frozen=True)
class Workload:
    """`prompt` tokens processed, or `generate` tokens decoded one by one, after `depth` tokens in the cache."""

    prompt: int
    generate: int
    depth: int

    @property
    def name(self) -> str:
        """As llama-bench names it: pp512, tg128, with the depth where there is one."""
        kind = f"pp{self.prompt}" if self.prompt else f"tg{self.generate}"
        return kind + (f" @ d{self.depth}" if self.depth else "")

    @property
    def timed(self) -> int:
        """Tokens that count."""
        return self.prompt + self.generate

    @property
    def length(self) -> int:
        """Tokens that must fit the cache."""
        return self.depth + self.timed


@dataclass
class Row:
    """Samples of one test, in tokens per second, of ONNX Runtime and (or none) of llama.cpp."""

    test: Workload
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    test_time: str = ""  # when it began, UTC

    @property
    def ratio(self) -> float | None:
        """Mean over llama.cpp's mean."""
        return statistics.mean(self.ours) / statistics.mean(self.theirs) if self.theirs else None

    @property
    def ttft_ms(self) -> float | None:
        """Mean time until the logits after the whole prompt are on the host; None for generation."""
        return statistics.mean(1e3 * self.test.prompt / speed for speed in self.ours) if self.test.prompt else None

    @property
    def noisy(self) -> list[str]:
        """Engines whose spread exceeds the limit."""
        engines = {"ONNX Runtime": self.ours, "llama.cpp": self.theirs}
        return [who for who, speeds in engines.items() if speeds and spread(speeds) > NOISY * statistics.mean(speeds)]


def spread(samples: Sequence[float]) -> float:
    """Standard deviation of the samples; 0 for a single one."""
    return statistics.stdev(samples) if len(samples) > 1 else 0.0


def of_samples(samples: Sequence[float]) -> Speed | None:
    """Mean and spread; None where nothing was measured."""
    return Speed(statistics.mean(samples), spread(samples)) if samples else None


def all_tests(prompts: Sequence[int], generates: Sequence[int], depths: Sequence[int]) -> list[Workload]:
    """Every prompt length and every number of generated tokens at every depth; zeros are left out."""
    tests = [Workload(p, 0, d) for d in depths for p in prompts if p > 0]
    return tests + [Workload(0, n, d) for d in depths for n in generates if n > 0]


def records(rows: Sequence[Row], facts: dict[str, Any]) -> list[dict[str, Any]]:
    """One flat object per test: the facts that all share, the test, what was measured."""
    return [{**facts, **_measured(row)} for row in rows]


def report(rows: Sequence[Row], facts: dict[str, Any]) -> dict[str, Any]:
    """The same as one object: the facts once, and an entry per test."""
    return {**facts, "tests": [_measured(row) for row in rows]}


def _measured(row: Row) -> dict[str, Any]:
    times = [round(1e9 * row.test.timed / speed) for speed in row.ours]
    return {
        "n_prompt": row.test.prompt,
        "n_gen": row.test.generate,
        "n_depth": row.test.depth,
        "test_time": row.test_time,
        "avg_ns": round(statistics.mean(times)),
        "stddev_ns": round(spread(times)),
        "avg_ts": statistics.mean(row.ours),
        "stddev_ts": spread(row.ours),
        "ttft_ms": row.ttft_ms,
        "llama_cpp_avg_ts": statistics.mean(row.theirs) if row.theirs else None,
        "llama_cpp_stddev_ts": spread(row.theirs) if row.theirs else None,
        "ratio": row.ratio,
        "noisy": ", ".join(row.noisy),
        "samples_ns": times,
        "samples_ts": row.ours,
        "llama_cpp_samples_ts": row.theirs,
    }
