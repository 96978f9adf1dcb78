#!/usr/bin/env python3
"""Run converted folders in programs that others wrote, and judge their tokens by what `mobius run` gives.

usage: python scripts/clients.py MODEL.gguf [MODEL.gguf ...] [--venv DIR] [--client NAME ...]

Each model is converted with `--layout hub` for each of TARGETS. A client is a program of its own in
scripts/client_kit: it is given three texts and a chat of two turns, and answers with token ids. Tests: `text`, one
text; `batch`, three of unequal length at once; `chat`, each turn; tools have tests of their own. `undecided by` says
how far from the most likely token another choice was, in nats, which rounding explains. Exit code 1 if any fails.

--venv DIR keeps the clients' packages (about 5 GB); they are installed if they are not there, else for this run only.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from client_kit.install import install, modules_of, python_of  # noqa: E402
from client_kit.jobs import make_job  # noqa: E402
from client_kit.judge import Judge  # noqa: E402

KIT = ROOT / "scripts" / "client_kit"
TARGETS = {"onnx": (), "onnx f16": ("--dtype", "f16"), "cpu": ("--ep", "cpu")}
CLIENTS = {  # name: its program, and the package without which it is not installed
    "onnxruntime": ("run_onnxruntime.py", "onnxruntime"),
    "genai": ("run_genai.py", "onnxruntime_genai"),
    "optimum": ("run_optimum.py", "optimum.onnxruntime"),
    "transformers.js": ("run_transformers_js.mjs", "@huggingface/transformers"),
    "onnxruntime-node": ("run_node.mjs", "onnxruntime-node"),
    "onnxruntime-web": ("run_web.mjs", "onnxruntime-web"),
    "openvino": ("run_openvino.py", "openvino"),
    "onnx tools": ("run_tools.py", "onnxslim"),
    "netron": ("run_netron.py", "netron"),
}
SHOWN = 160  # characters of what a runtime says
SECONDS = 300  # for a client on a folder, loading and all tests
TESTS = ("text", "batch", "chat")
# What a runtime cannot do, whatever the folder: client, target and test, what it says, and why.
PADS_LEFT = ("batch", "padding_must_stand_behind_the_prompt", "it pads before the prompts, the target takes it behind")
NOT_STANDARD = "ONNX Runtime has an operator in ONNX's own domain"
CANNOT: tuple[tuple[str, str, str, str, str], ...] = (
    ("optimum", "cpu", *PADS_LEFT),
    ("transformers.js", "cpu", *PADS_LEFT),
    ("onnx tools", "cpu", "checker", "No Op registered for Simplified", NOT_STANDARD),
    ("openvino", "cpu", "", "Exception from|validating ONNX node", "it does not convert ONNX Runtime's own operators"),
)


def converted(model: Path, work: Path) -> dict[str, Path]:
    """The folders of a model by target."""
    folders = {}
    for target, options in TARGETS.items():
        folder = work / f"{model.stem} {target}".replace(" ", "_")
        command = [sys.executable, "-m", "mobius_cli", "convert", str(model), "-o", str(folder), "--layout", "hub"]
        subprocess.run([*command, *options], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        folders[target] = folder
    return folders


def missing(name: str, venv: Path) -> bool:
    """Whether a client is not installed."""
    program, package = CLIENTS[name]
    if program.endswith(".mjs"):
        return shutil.which("node") is None or not (modules_of(venv) / package).exists()
    python = python_of(venv)
    return not python.exists() or bool(
        subprocess.run([python, "-c", f"import {package}"], capture_output=True).returncode
    )


def answer(name: str, job: Path, venv: Path) -> dict[str, Any]:
    """What a client answers: `version`, `tests` by name; or `error`."""
    program = CLIENTS[name][0]
    command = [str(python_of(venv)) if program.endswith(".py") else "node", str(KIT / program), str(job)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, cwd=KIT)
        said, code = (done.stdout, done.stderr), f"exit code {done.returncode}"
    except subprocess.TimeoutExpired as late:
        said, code = (late.stdout or b"", b""), f"no answer within {SECONDS} s"
    stdout, stderr = (text.decode(errors="replace").splitlines() for text in said)
    try:
        found: dict[str, Any] = json.loads(stdout[-1])
    except (IndexError, ValueError):
        lines = [line for line in stderr if re.search(r"error|exception", line, re.IGNORECASE)]
        return {"error": (lines or stderr or [code])[-1].strip()}
    return found


def explained(name: str, target: str, test: str, verdict: str) -> str:
    """A failure that the runtime itself is known for, as such; any other verdict, cut."""
    for client, where, which, words, reason in CANNOT:
        known = client == name and where in ("", target) and which in ("", test)
        if known and verdict.startswith("FAIL") and re.search(words, verdict):
            return f"cannot: {reason}"
    return verdict[:SHOWN]


def judged(name: str, target: str, found: dict[str, Any], judge: Judge) -> dict[str, str]:
    """Verdicts by test; `all` where a client gave no answer."""
    if "error" in found:
        return {"all": explained(name, target, "", f"FAIL: {found['error']}")}
    tests = found["tests"].items()
    return {test: explained(name, target, test, judge.verdict(test, result)) for test, result in tests}


def row(cells: list[str]) -> str:
    """A line of a table in Markdown."""
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def cells(verdicts: dict[str, str], chats: bool) -> list[str]:
    """In the order of the columns; the last holds tests of tools."""
    rest = [f"{test}: {verdict}" for test, verdict in verdicts.items() if test not in (*TESTS, "all")]
    if "all" in verdicts:
        return [verdicts["all"]] * len(TESTS) + [""]
    named = [verdicts.get(test, "-") for test in TESTS]
    if not chats and not rest:
        named[2] = "the file has no chat template"
    return [*named, "; ".join(rest)]


def run(models: list[Path], names: list[str], venv: Path, work: Path) -> bool:
    """Print a line for each client, model and target; returns whether nothing failed."""
    versions: dict[str, str] = {}
    good = True
    print(row(["client", "model", "target", *TESTS, "other"]), "\n|---|---|---|---|---|---|---|", sep="")
    absent = {name for name in names if missing(name, venv)}
    for model in models:
        for target, folder in converted(model, work).items():
            asked = make_job(folder, modules_of(venv))
            job = work / "job.json"
            job.write_text(json.dumps(asked), encoding="utf-8")
            judge = Judge(folder, asked["ids"], asked["count"])
            for name in names:
                found = {"error": ""} if name in absent else answer(name, job, venv)
                versions[name] = found.get("version", versions.get(name, "?"))
                verdicts = {"all": "not installed"} if name in absent else judged(name, target, found, judge)
                good &= not any("FAIL" in verdict for verdict in verdicts.values())
                print(row([name, model.stem, target, *cells(verdicts, bool(asked["chats"]))]), flush=True)
    print("\n" + "\n".join(f"{name} {version}" for name, version in versions.items() if name not in absent))
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--venv", type=Path)
    parser.add_argument("--client", choices=CLIENTS, action="append")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        venv = (given.venv or Path(work) / "venv").resolve()
        install(venv)
        good = run(given.models, given.client or list(CLIENTS), venv, Path(work))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
