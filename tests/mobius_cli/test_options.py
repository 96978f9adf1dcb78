"""Options that commands share."""

from typing import Any

import pytest
import typer
from typer.main import get_command

from mobius_cli.app import app
from mobius_cli.commands.run.options import template_variables
from mobius_cli.options import numbers
from tests.support.cli import mobius


def test_build_takes_what_convert_takes() -> None:
    commands: Any = get_command(app).commands  # type: ignore[attr-defined]
    convert, build = ({p.name: p for p in commands[name].params} for name in ("convert", "build"))
    assert list(build) == list(convert)
    assert build["model"].opts == ["--gguf"] and convert["model"].param_type_name == "argument"
    others = [name for name in convert if name not in ("model", "output")]
    assert [build[name].opts for name in others] == [convert[name].opts for name in others]
    assert [build[name].default for name in others] == [convert[name].default for name in others]


@pytest.mark.parametrize("arguments", [("-o", "x"), ("--gguf", "x.gguf")])
def test_build_needs_file_and_folder(arguments: tuple[str, ...]) -> None:
    done = mobius("build", *arguments)
    assert done.exit_code == 2
    assert "Missing option" in done.stderr


def test_numbers() -> None:
    assert numbers("1, 2,,30") == [1, 2, 30]
    for text in ("1,-2", "x", "1.5"):
        with pytest.raises(typer.BadParameter, match="separated by commas"):
            numbers(text)


def test_template_variables() -> None:
    given = ["a=1", "b=true", "c=x y", 'd={"e": [null]}', "f=a=b", "g=", "h=007", "i=NaN", 'j="7"', "é=2", "a=3"]
    wanted = {"a": 3, "b": True, "c": "x y", "d": {"e": [None]}, "f": "a=b", "g": "", "h": "007", "i": "NaN", "j": "7"}
    assert template_variables(given) == {**wanted, "é": 2}
    assert template_variables(None) == {}
    assert template_variables(["a=" + "[" * 100_000]) == {"a": "[" * 100_000}
    for text in ("a", "=1", "a b=1", "", "messages=[]", "1=2"):
        with pytest.raises(typer.BadParameter, match="NAME=VALUE is wanted"):
            template_variables([text])
