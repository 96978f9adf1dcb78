#!/usr/bin/env python3
"""Find the oldest ONNX Runtime that gives a target's folders the same answers as the newest.

usage: python scripts/oldest_runtime.py GGUF ... [--ways onnx,onnx:f16,cpu,cpu:small] [--versions 1.23.2,1.23.0]

Converts each file in each way, installs each version into a temporary folder, and feeds both the same tokens: a prompt
at once, then single tokens. Prints a table, versions down, ways across: how many files give the same, and how far their
logits are from the installed version's at most, in standard deviations of the logits. What rounds to 8 bits or float16
differs by a few hundredths; a wrong answer differs by about one. The reasons of whatever fails stand below. The exit
status is 1 if a version that a folder calls new enough fails.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
VERSIONS = "1.24.4,1.24.1,1.23.2,1.23.1,1.23.0,1.22.1,1.21.1,1.20.1"
WAYS = "onnx,onnx:f16,cpu,cpu:small,cpu:f16"
PROMPT, STEPS, CONTEXT = 12, 4, 64
CLOSE = 0.15  # root mean square of the difference, in standard deviations of the logits


def convert(path: Path, way: str, folder: Path) -> str | None:
    """Write graph and states; the reason if this cannot be."""
    from converters.graph.onnx_file import write_graph
    from converters.plan import make_plan
    from converters.sources.gguf.file import GgufFile
    from converters.target import choose_target
    from repack.errors import MobiusError

    ep, _, choice = way.partition(":")
    choices = {"storage": choice} if choice == "small" else {"dtype": choice or None}
    try:
        with GgufFile.open(path) as source:
            plan = make_plan(source, choose_target(ep, **choices), CONTEXT)
            folder.mkdir()
            write_graph(plan.graph, folder, {}, ("oldest_runtime", "0"))
    except MobiusError as error:
        return error.message
    told = {
        "oldest": plan.oldest_runtime,
        "states": [state.as_dict() for state in plan.states],
        "vocab": plan.spec.vocab,
    }
    (folder / "about.json").write_text(json.dumps(told))
    return None


def about(folder: Path) -> dict[str, Any]:
    """What `convert` wrote beside a graph."""
    found: dict[str, Any] = json.loads((folder / "about.json").read_text())
    return found


def answers(folders: list[Path], out: Path) -> None:
    """Child process, with one version of ONNX Runtime: logits of each folder, or what it said."""
    import numpy as np
    import onnxruntime as ort

    said: dict[str, str] = {}
    arrays = {}
    for folder in folders:
        try:
            arrays[folder.name] = logits(folder, np, ort)
        except Exception as error:  # onnxruntime raises a dozen unrelated classes
            said[folder.name] = str(error).splitlines()[0]
    np.savez(out, said=json.dumps(said), **arrays)


def logits(folder: Path, np: Any, ort: Any) -> Any:
    """Float32 logits [PROMPT + STEPS, vocabulary]."""
    known = about(folder)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "0")
    session = ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    total = PROMPT + STEPS
    ids = np.random.default_rng(7).integers(0, known["vocab"], (1, total))
    feeds = {}
    for state in known["states"]:
        sizes = {"batch_size": 1, "past_sequence_length": total if state["in_place"] else 0}
        feeds[state["input"]] = np.zeros([sizes.get(size, size) for size in state["shape"]], state["dtype"])
    rows = []
    for begin, end in [(0, PROMPT), *((n, n + 1) for n in range(PROMPT, total))]:
        feeds |= {"input_ids": ids[:, begin:end], "attention_mask": np.ones((1, end), np.int64)}
        found, *states = session.run(["logits", *(state["output"] for state in known["states"])], feeds)
        feeds |= {state["input"]: value for state, value in zip(known["states"], states, strict=True)}
        rows.append(found[0])
    return np.concatenate(rows).astype(np.float32)


def install(version: str, place: Path) -> dict[str, str]:
    """The environment of a child with this version; everything else is the running Python's."""
    folder = place / version
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    subprocess.run([*command, f"onnxruntime=={version}"], check=True, stderr=subprocess.DEVNULL)
    return {**os.environ, "PYTHONPATH": str(folder)}


def asked(folders: list[Path], environment: dict[str, str], place: Path) -> dict[str, Any]:
    """What the version of `environment` answers, by folder: an array, or a text."""
    import numpy as np

    out = place / "answers.npz"
    out.unlink(missing_ok=True)
    command = [sys.executable, __file__, "--answers", str(out), *map(str, folders)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if not out.exists():
        return {folder.name: (done.stderr.strip().splitlines() or ["it crashed"])[-1] for folder in folders}
    with np.load(out) as found:
        said = json.loads(str(found["said"]))
        return {**said, **{name: found[name] for name in found.files if name != "said"}}


def distance(mine: Any, theirs: Any) -> float:
    """In standard deviations of the logits; infinite if some are no numbers."""
    import numpy as np

    apart = float(np.sqrt(np.square(mine - theirs).mean()) / theirs.std())
    return apart if np.isfinite(apart) else np.inf


def cell(found: dict[str, Any], newest: dict[str, Any], folders: list[Path]) -> tuple[str, dict[str, list[str]]]:
    """How many folders give the same, and of the others which, by the reason."""
    reasons: dict[str, list[str]] = {}
    worst, same = 0.0, 0
    for folder in folders:
        if isinstance(mine := found[folder.name], str):
            reasons.setdefault(mine.partition("failed:")[2][:160] or mine[:160], []).append(folder.name)
        elif (apart := distance(mine, newest[folder.name])) > CLOSE:
            reasons.setdefault("WRONG, and says nothing", []).append(folder.name)
        else:
            worst, same = max(worst, apart), same + 1
    return f"{same} of {len(folders)}" + (f" ({worst:.0e})" if same else ""), reasons


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--versions", default=VERSIONS)
    parser.add_argument("--ways", default=WAYS)
    parser.add_argument("--answers", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.answers:
        answers(given.files, given.answers)
        return 0
    from converters.version import numbers_of

    ways, broken = given.ways.split(","), False
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        folders: dict[str, list[Path]] = {way: [] for way in ways}
        for way in ways:
            for number, path in enumerate(given.files):
                folder = place / f"{path.stem}-{way.replace(':', '_')}-{number}"
                if (reason := convert(path, way, folder)) is None:
                    folders[way].append(folder)
                else:
                    print(f"{path.name}, {way}: {reason}", file=sys.stderr)
        every = [folder for found in folders.values() for folder in found]
        newest = asked(every, dict(os.environ), place)
        failed = {name: text for name, text in newest.items() if isinstance(text, str)}
        assert not failed, failed
        reasons = []
        print(f"| onnxruntime | {' | '.join(ways)} |\n|---|{'---|' * len(ways)}")
        for version in given.versions.split(","):
            found = asked(every, install(version, place), place)
            cells = []
            for way in ways:
                text, why = cell(found, newest, folders[way])
                cells.append(text)
                reasons += [f"{version} {way}: {reason}: {', '.join(names)}" for reason, names in why.items()]
                promised = [f for f in folders[way] if numbers_of(version) >= numbers_of(about(f)["oldest"])]
                broken |= bool(cell(found, newest, promised)[1])
            print(f"| {version} | {' | '.join(cells)} |", flush=True)
    print("\n".join(reasons))
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
