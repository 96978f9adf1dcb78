"""Rules of the house: imports point one way, each kind of knowledge has one place, modules stay small."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("mobius_cli", "converters", "repack")
MODULES = sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))
BELOW = {"repack": set(), "converters": {"repack"}, "mobius_cli": {"converters", "repack"}}


def imported(path: Path) -> set[str]:
    """Top-level names of every import in a module, also those inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add((node.module or "").split(".")[0])
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_module(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    ours = imported(path) & set(PACKAGES) - {package}
    assert ours <= BELOW[package], f"imports {ours - BELOW[package]}"
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 250
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, f"{node.name} is long"


def test_architecture_names_have_one_place() -> None:
    """Words for models occur in converters/archs only; "llama" alone also names tokenizers and llama.cpp."""
    from converters.archs.describe import ARCHITECTURES

    names = [n for n in ARCHITECTURES if n != "llama"]
    pattern = re.compile(r"[\"'](" + "|".join(map(re.escape, names)) + r")[\"']")
    for path in MODULES:
        inside = path.relative_to(ROOT)
        if inside.parts[:2] != ("converters", "archs") and inside.parts[:2] != ("converters", "tokenizer"):
            assert not pattern.search(path.read_text(encoding="utf-8")), inside


def test_execution_providers_have_one_place() -> None:
    pattern = re.compile(r"(\bep|provider|target\.name)\s*(==|!=)\s*[\"']")
    for path in MODULES:
        if path.name != "target.py":
            assert not pattern.search(path.read_text(encoding="utf-8")), path


def test_bit_layouts_have_one_place() -> None:
    """Outside repack/ nobody unpacks bits or names a block's bytes."""
    pattern = re.compile(r"unpackbits|packbits|>> 4|& 15|& 0x0?[fF]\b|\^ 0x80")
    for path in MODULES:
        if path.relative_to(ROOT).parts[0] != "repack":
            assert not pattern.search(path.read_text(encoding="utf-8")), path


def test_readme_tables_are_current() -> None:
    """The table of types in the README is what the code's registry says."""
    from mobius_cli.commands.list import TABLES

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for row in TABLES["quants"]():
        assert "| " + " | ".join(row.values()) + " |" in readme, row["type"]
    for row in TABLES["archs"]():
        assert "| " + " | ".join(row.values()) + " |" in readme, row["architecture"]
