"""Help pages: options in groups, an example that is right; and completion of choices in a shell."""

import os
import subprocess
import sys
from typing import Any

import pytest
from typer.main import get_command

from mobius_cli.app import app
from tests.support.cli import mobius

COMMANDS: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_page_has_each_option_once_and_an_example(name: str) -> None:
    text = mobius(name, "--help").stdout
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "option":
            assert sum(
                line.startswith("  -") and parameter.opts[0] in line.split("  ")[1] for line in text.splitlines()
            )
    (example,) = [line for line in text.splitlines() if line.startswith("  Example: mobius ")]
    words = example.split()
    assert words[2] == name
    known = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known


def test_groups() -> None:
    lines = mobius("verify", "--help").stdout.splitlines()
    titles = [line[:-1] for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Arguments", "llama.cpp", "What is compared", "Where it runs", "What is printed", "Options"]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("convert --ep ", "onnx cpu cuda"),
        ("convert --ep c", "cpu cuda"),
        ("convert x.gguf --dtype bf", "bf16 bfloat16"),
        ("convert --storage ", "fast small"),
        ("inspect --quant-format ", "matmulnbits qdq"),
        ("build --ep cu", "cuda"),
        ("run --ep ", "onnx cpu cuda"),
        ("verify --ep cu", "cuda"),
        ("list ", "archs quants targets"),
        ("list --js", "--json"),
        ("ver", "verify"),
    ],
)
def test_completion(line: str, wanted: str) -> None:
    words = f"mobius {line}"
    environment = os.environ | {
        "_MOBIUS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1),
    }  # fmt: skip
    code = "import sys; sys.argv[0] = 'mobius'; from mobius_cli.app import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == wanted.split(), done.stderr


def test_completion_loads_nothing_heavy() -> None:
    code = (
        "import sys; from mobius_cli import options as o\n"
        "print(o._providers(), o._dtypes(), o._storages(), o._quant_formats(), o._tables(), file=sys.stderr)\n"
        "print(sorted({'numpy', 'onnx', 'onnx_ir', 'rich', 'gguf'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
