"""Greedy decoding of one or several prompts with a bare runtime, whatever runs the graph; and a client's answer."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Feeds = dict[str, np.ndarray[Any, Any]]
Run = Callable[[Feeds], dict[str, np.ndarray[Any, Any]]]  # inputs by name to outputs by name


def job() -> dict[str, Any]:
    """What `scripts/clients.py` asks of a client; see `client_kit.jobs`."""
    asked: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    return asked


def answer(version: str, tests: dict[str, Callable[[], dict[str, Any]]]) -> None:
    """Run each test, and print what came of all so far: the last line of stdout counts, also if time runs out."""
    found: dict[str, Any] = {name: {"error": "no answer in time"} for name in tests}
    print(json.dumps({"version": version, "tests": found}), flush=True)
    for name, test in tests.items():
        try:
            found[name] = test()
        except Exception as error:  # whatever a runtime raises is its answer
            found[name] = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps({"version": version, "tests": found}), flush=True)


def texts_of(asked: dict[str, Any], decode: Callable[[list[list[int]]], list[list[int]]]) -> dict[str, Any]:
    """The three tests for a runtime that takes ids."""

    def apart(name: str) -> Callable[[], dict[str, Any]]:
        return lambda: {"tokens": [decode([row])[0] for row in asked["ids"][name]]}

    tests = {"text": apart("text"), "batch": lambda: {"tokens": decode(asked["ids"]["batch"])}}
    if asked["ids"]["chat"]:
        tests["chat"] = apart("chat")
    return tests


def greedy(run: Run, states: Sequence[dict[str, Any]], rows: list[list[int]], count: int, side: str) -> list[list[int]]:
    """`count` tokens after each row; `side`: where shorter rows are padded.

    Args:
        run: one pass of the graph.
        states: those of the graph: names, types and shapes, as in mobius.json.
        rows: token ids.
        count: how many tokens are wanted.
        side: "left" or "right".
    """
    longest = max(map(len, rows))
    ids = np.zeros((len(rows), longest), np.int64)
    mask = np.zeros_like(ids)
    for index, row in enumerate(rows):
        place = slice(0, len(row)) if side == "right" else slice(longest - len(row), longest)
        ids[index, place], mask[index, place] = row, 1
    last = [len(row) - 1 if side == "right" else longest - 1 for row in rows]
    past = {s["input"]: np.zeros([_size(n, len(rows)) for n in s["shape"]], s["dtype"]) for s in states}
    found: list[list[int]] = [[] for _ in rows]
    for _ in range(count):
        out = run({"input_ids": ids, "attention_mask": mask, **past})
        past = {s["input"]: out[s["output"]] for s in states}
        tokens = [int(out["logits"][index, place].argmax()) for index, place in enumerate(last)]
        for row, token in zip(found, tokens, strict=True):
            row.append(token)
        ids, last = np.array([[token] for token in tokens], np.int64), [0] * len(rows)
        mask = np.pad(mask, ((0, 0), (0, 1)), constant_values=1)
    return found


def _size(axis: int | str, batch: int) -> int:
    return axis if isinstance(axis, int) else batch if axis == "batch_size" else 0
