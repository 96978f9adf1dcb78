"""Samples of `mobius bench`: what runs, in which pieces, and that the warm-up does not count."""

from typing import Any

import pytest

from mobius_cli.commands.bench import timed_test as bench_sample
from mobius_cli.commands.bench.bench import measure
from mobius_cli.commands.bench.memory import DeviceMemory
from mobius_cli.commands.bench.rows import Row, Workload
from mobius_cli.commands.bench.timed_test import TimedTest


class Fake:
    """A model, its only sequence and a clock: the first single token takes 100 s more, as if it captured a graph."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.now, self.captured, self.past = 0.0, False, 0

    def start(self, length: int) -> Any:
        self.calls.append(("start", length))
        return self

    def mark(self) -> None:
        pass

    def rewind(self, length: int) -> None:
        self.calls.append(("rewind", length))
        self.past = length

    def run(self, ids: list[int]) -> None:
        self.calls.append(len(ids))
        self.past += len(ids)
        self.now += 0.5 + (100 if len(ids) == 1 and not self.captured else 0)
        self.captured |= len(ids) == 1


class Other:
    """An engine beside, which writes into the same list of calls; it knows no prompts behind a depth."""

    about: dict[str, str] = {}  # noqa: RUF012

    def __init__(self, fake: Fake) -> None:
        self.fake = fake

    def warm_up(self, test: Workload) -> None:
        self.fake.calls.append("their warm-up")

    def sample(self, test: Workload) -> float | None:
        self.fake.calls.append("theirs")
        return None if test.prompt and test.depth else 4.0


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    model = Fake()
    monkeypatch.setattr(bench_sample.time, "perf_counter", lambda: model.now)
    return model


def run(fake: Fake, test: Workload, repeat: int, beside: Other | None = None) -> Row:
    row = Row(test)
    measure(row, TimedTest(fake, test, 100), beside, repeat, lambda step, name: None, DeviceMemory(wanted=False))
    return row


def test_generation_goes_back_to_its_depth(fake: Fake) -> None:
    row = run(fake, Workload(0, 3, 700), 2)
    sample = [("rewind", 700), 1, 1, 1]
    assert fake.calls == [("start", 703), 512, 188, *sample * 3]
    assert row.ours == [2.0, 2.0]  # three tokens in 1.5 s; the capture was in the warm-up
    assert row.test_time.endswith("Z")


def test_prompts_run_in_passes(fake: Fake) -> None:
    row = run(fake, Workload(1100, 0, 5), 1)
    sample = [("rewind", 5), 512, 512, 76]
    assert fake.calls == [("start", 1105), 5, *sample * 2]
    assert row.ours == [pytest.approx(1100 / 1.5)]
    assert row.ttft_ms == pytest.approx(1500)


def test_engines_take_turns(fake: Fake) -> None:
    row = run(fake, Workload(8, 0, 0), 2, Other(fake))
    ours = [("rewind", 0), 8]
    assert fake.calls == [("start", 8), *ours, "their warm-up", *ours, "theirs", *ours, "theirs"]
    assert (row.ours, row.theirs) == ([16.0, 16.0], [4.0, 4.0])


def test_what_they_cannot_say_stays_empty(fake: Fake) -> None:
    row = run(fake, Workload(8, 0, 2), 2, Other(fake))
    assert (len(row.ours), row.theirs, row.ratio) == (2, [], None)
