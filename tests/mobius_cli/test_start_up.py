"""What commands that answer at once must not import: each in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import mobius
from tests.support.tiny import write_tiny

ROOT = Path(__file__).parents[2]
# The ONNX packages and what they bring; then others that take long and are of no use here.
HEAVY = ("onnx", "onnx_ir", "onnxruntime", "sympy", "ml_dtypes", "gguf", "tokenizers", "jinja2", "rich")
CODE = """
import sys
from mobius_cli.app import main
sys.argv = ["mobius", *sys.argv[1:]]
try:
    main()
except SystemExit as done:
    sys.stderr.write(f"{done.code or 0} {sorted(set(sys.modules) & set(%r))}")
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    path = write_tiny(folder / "t.gguf", "llama", types={"ffn_down": "Q6_K", ".": "Q4_K"}, tokenizer="bpe")
    for name, options in {"cpu": ("--ep", "cpu"), "bf16": ("--ep", "cuda", "--dtype", "bf16")}.items():
        assert mobius("convert", path, "-o", folder / name, *options).exit_code == 0
    return folder


def imported(heavy: tuple[str, ...], *arguments: str, cwd: Path = ROOT) -> str:
    """The exit code and which of the packages were imported."""
    done = subprocess.run(
        [sys.executable, "-c", CODE % (heavy,), *arguments], cwd=cwd, capture_output=True, text=True, check=True
    )
    assert done.stdout
    return done.stderr


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("inspect", "--help")], ids=" ".join)
def test_without_a_model_not_even_numpy(arguments: tuple[str, ...]) -> None:
    assert imported((*HEAVY, "numpy"), *arguments) == "0 []"


@pytest.mark.parametrize(
    "arguments",
    [("t.gguf",), ("t.gguf", "--tensors", "--json"), ("t.gguf", "--ep", "cuda", "--storage", "small"), ("cpu",),
     ("cpu", "--tensors", "--json"), ("bf16",)],
    ids=" ".join,
)  # fmt: skip
def test_inspect(models: Path, arguments: tuple[str, ...]) -> None:
    model, *options = arguments
    assert imported(HEAVY, "inspect", str(models / model), *options) == "0 []"
