"""Several runs side by side: what they share, what differs, and the ratio of every speed to the first run's."""

from collections.abc import Sequence
from dataclasses import dataclass

from mobius_cli.commands.bench.circumstances import circumstances
from mobius_cli.commands.bench.rows import NOISY, Workload
from mobius_cli.commands.compare.run import Run
from mobius_cli.reports.bars import Speed
from mobius_cli.reports.pages import plain

LONGEST_LABEL = 16  # characters that fit a column of a terminal's table
ENGINES = ("ONNX Runtime", "llama.cpp")
NONE = "–"  # where a run has no such thing
# What must be equal for ratios to tell of the program alone, by the word for what it is.
SAME = {"model": ("model_name", "model_type", "model_n_params"), "machine": ("cpu_info", "gpu_info")}


@dataclass(frozen=True)
class Line:
    """One test in one engine: a speed of each run, None where it was not measured."""

    test: Workload
    engine: str
    speeds: tuple[Speed | None, ...]

    @property
    def name(self) -> str:
        """Of the row."""
        return self.test.name if self.engine == ENGINES[0] else f"{self.test.name}, {self.engine}"

    @property
    def ratios(self) -> tuple[float | None, ...]:
        """Each mean over the first run's."""
        base = self.speeds[0]
        return tuple(None if base is None or speed is None else speed.mean / base.mean for speed in self.speeds)


@dataclass(frozen=True)
class Comparison:
    """The runs, the first of which is the base."""

    runs: Sequence[Run]

    @property
    def labels(self) -> list[str]:
        """Short names of the runs: of the files, without suffix; numbers where these are long or equal."""
        names = [plain(run.path.stem) for run in self.runs]
        if len(set(names)) == len(names) and max(map(len, names)) <= LONGEST_LABEL:
            return names
        return [f"#{place}" for place in range(1, len(names) + 1)]

    @property
    def terms(self) -> dict[str, list[str]]:
        """What is known of each run: a value of every run for each term."""
        words = [
            {"file": plain(str(run.path)), **circumstances(run.facts, run.samples, run.begun)} for run in self.runs
        ]
        return {term: [entry.get(term, NONE) for entry in words] for term in dict.fromkeys(t for w in words for t in w)}

    @property
    def same(self) -> dict[str, str]:
        """The terms in which all runs agree."""
        return {term: values[0] for term, values in self.terms.items() if len(set(values)) == 1}

    @property
    def different(self) -> dict[str, list[str]]:
        """The others, with the value of each run."""
        return {term: values for term, values in self.terms.items() if len(set(values)) > 1}

    @property
    def lines(self) -> list[Line]:
        """A line per test, and one for llama.cpp below it where any run has that; in the order of the files."""
        found = []
        for test in dict.fromkeys(test for run in self.runs for test in run.tests):
            measured = [run.tests.get(test) for run in self.runs]
            found.append(Line(test, ENGINES[0], tuple(m.ours if m else None for m in measured)))
            theirs = tuple(m.theirs if m else None for m in measured)
            if any(theirs):
                found.append(Line(test, ENGINES[1], theirs))
        return found

    @property
    def warnings(self) -> list[str]:
        """What makes the ratios tell less than they seem to."""
        found = []
        differ = [
            what for what, keys in SAME.items() if len({tuple(run.facts[key] for key in keys) for run in self.runs}) > 1
        ]
        if differ:
            verb = "differs" if len(differ) == 1 else "differ"
            them = "it" if len(differ) == 1 else "them"
            found.append(f"the {' and the '.join(differ)} {verb}: the ratios compare {them} too")
        noisy = [
            f"{label} ({', '.join(names)})"
            for label, run in zip(self.labels, self.runs, strict=True)
            if (names := [test.name for test, measured in run.tests.items() if measured.noisy])
        ]
        if noisy:
            found.append(f"samples vary by more than {NOISY:.0%} in {'; '.join(noisy)}")
        return found
