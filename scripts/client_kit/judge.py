"""Judges a client's tokens by what `mobius run` gives each prompt alone, and by how far from it they are."""

from pathlib import Path
from typing import Any

import numpy as np

# Where two runtimes choose otherwise, the model was undecided: they round activations in different ways. The largest
# distance of a token from the most likely one that such a choice may have, in nats.
UNDECIDED = 0.5


class Judge:
    """The answers of one folder, from our own session."""

    def __init__(self, folder: Path, ids: dict[str, list[list[int]]], count: int) -> None:
        from mobius_cli.runtime.session import OnnxModel

        self.model, self.ids, self.count = OnnxModel(folder, threads=1), ids, count
        self.stops = self.model.stop_ids
        self._greedy: dict[tuple[int, ...], list[int]] = {}

    def verdict(self, test: str, found: dict[str, Any]) -> str:
        """In a few words; a failure begins with FAIL."""
        if "error" in found:
            return f"FAIL: {found['error'].splitlines()[0]}"
        if "missing" in found:
            return f"not installed: {found['missing']}"
        if "ok" in found:
            note = f": {found['note']}" if "note" in found else ""
            return f"{'pass' if found['ok'] else 'FAIL'}{note}"
        wanted = self.ids[test]
        for row, ids in enumerate(found.get("prompts", [])):
            if ids != wanted[row]:
                return f"FAIL: prompt {row} has other ids: {ids[:8]}..., not {wanted[row][:8]}..."
        if len(found["tokens"]) != len(wanted):
            return f"FAIL: {len(found['tokens'])} rows, not {len(wanted)}"
        farthest = max(self._distance(ids, row) for ids, row in zip(wanted, found["tokens"], strict=True))
        if farthest == 0:
            return "pass"
        return f"{'pass, undecided' if farthest <= UNDECIDED else 'FAIL: off'} by {farthest:.3f}"

    def _distance(self, ids: list[int], tokens: list[int]) -> float:
        """0 if they are those of `mobius run`; else the largest distance of one of them from the most likely."""
        tokens = self._until_stop(tokens)
        if tokens == self._alone(ids):
            return 0.0
        if len(tokens) < self.count and not (tokens and tokens[-1] in self.stops):
            return float("inf")  # ended early
        rows = self.model.logits(ids + tokens[:-1], len(ids) - 1)
        distances = [row.max() - row[token] for row, token in zip(rows, tokens, strict=True)]
        return max(float(max(distances)), float(np.finfo(np.float32).eps))  # more than 0, for they are not the same

    def _alone(self, ids: list[int]) -> list[int]:
        if tuple(ids) not in self._greedy:
            self._greedy[tuple(ids)] = list(self.model.greedy(ids, self.count))
        return self._greedy[tuple(ids)]

    def _until_stop(self, tokens: list[int]) -> list[int]:
        ends = [index for index, token in enumerate(tokens) if token in self.stops]
        return tokens[: ends[0] + 1] if ends else tokens
