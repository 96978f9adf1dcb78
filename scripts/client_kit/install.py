"""The clients' own environments: a folder with a virtual environment of Python and one of node."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

PYTHON = ("numpy", "onnx", "onnxruntime", "onnxruntime-genai", "openvino", "optimum-onnx", "transformers", "torch",
          "onnxslim", "netron")  # fmt: skip
NODE = ("@huggingface/transformers", "onnxruntime-node", "onnxruntime-web", "playwright-core")


def python_of(folder: Path) -> Path:
    """The interpreter of the environment in a folder."""
    return folder / "python" / "bin" / "python"


def modules_of(folder: Path) -> Path:
    """Where node's packages are."""
    return folder / "node" / "node_modules"


def install(folder: Path) -> None:
    """Bring what is missing; what is there is left as it is. A client that cannot be installed is named later."""
    if not python_of(folder).exists():
        print(f"installing {', '.join(PYTHON)} into {folder}: 5 GB, for torch brings libraries for GPUs", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder / "python")], check=True)
        pip = [str(python_of(folder)), "-m", "pip", "install", "-q"]
        if subprocess.run([*pip, *PYTHON]).returncode:
            for package in PYTHON:  # one that is not there must not take the others along
                subprocess.run([*pip, package])
    if shutil.which("npm") and not modules_of(folder).exists():
        (folder / "node").mkdir(parents=True, exist_ok=True)
        (folder / "node" / "package.json").write_text(json.dumps({"private": True}), encoding="utf-8")
        # no scripts: onnxruntime-node's fetches libraries for GPUs, and its CPU library is in the package
        subprocess.run(["npm", "install", "--silent", "--ignore-scripts", *NODE], cwd=folder / "node")
