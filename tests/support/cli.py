"""The command line as tests use it, in this process; and what a folder holds."""

from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from mobius_cli.app import app


def mobius(*arguments: Any) -> Any:
    """Run a command: its exit code, stdout and stderr."""
    return CliRunner().invoke(app, [str(a) for a in arguments])


def contents(folder: Path) -> dict[str, bytes]:
    """Every file by its path inside the folder."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
