"""Rules of the house: imports point one way, each kind of knowledge has one place, a module is one thought."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("mobius_cli", "converters", "repack")
MODULES = sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))
BELOW = {"repack": set(), "converters": {"repack"}, "mobius_cli": {"converters", "repack"}}

MOST_LINES, LEAST_LINES, MOST_OF_A_FUNCTION = 300, 20, 60
# Folders with a file for each type or architecture, however short.
ONE_EACH = ("repack/types", "repack/packed", "converters/archs", "converters/archs/checkpoint")
# Tables of what stands beside them, which nothing beside them may import; and what must be cheap to import.
FRAGMENTS = {"converters/weights/formats.py"}

# Folders and modules of converters/, each below those that may import it; the longest name that fits counts.
LEVELS = (
    "checked", "version", "spec", "target", "folder.seal", "folder.source_file", "folder.tokenizer_record",
    "folder.metadata", "folder.layout", "folder.stream_hash",
    "graph.states", "graph.routers", "weights.rounding",
    "weights.records", "folder.manifest", "graph.graph", "folder.writer", "graph", "tokenizer", "operators", "weights",
    "sources.source", "sources", "weights.weights", "blocks", "archs", "sources.checkpoint", "sources.open",
    "plan", "folder", "pipeline", "to_gguf", "proof",
)  # fmt: skip

# Folders whose README says what is there and how to add to it, with the table that the code prints.
READMES = {
    ".": "", "scripts": "", "mobius_cli": "", "converters": "", "converters/archs": "archs",
    "converters/tokenizer": "", "repack": "quants",
}  # fmt: skip
MOST_README_LINES = 130  # of the main one: what a newcomer reads in five minutes


def inside(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def module_name(path: Path) -> str:
    return inside(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


NAMES = {module_name(path): path for path in MODULES}


def imported(path: Path) -> set[str]:
    """Modules of ours that a module imports: also inside of functions, and for type checkers only."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            parts = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {part if part in NAMES else str(node.module) for part in parts.values()}
    return found & NAMES.keys()


IMPORTS = {name: imported(path) for name, path in NAMES.items()}


@pytest.mark.parametrize("path", MODULES, ids=inside)
def test_module(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    ours = {name.partition(".")[0] for name in IMPORTS[module_name(path)]} - {package}
    assert ours <= BELOW[package], f"imports {ours - BELOW[package]}"
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < MOST_OF_A_FUNCTION, f"{node.name} is long"


def test_fragments() -> None:
    """Too short for a thought of their own: those known, and no others."""
    short = {
        inside(path)
        for path in MODULES
        if len(path.read_text(encoding="utf-8").splitlines()) < LEAST_LINES
        and path.name not in ("__init__.py", "__main__.py")
        and inside(path.parent) not in ONE_EACH
    }
    assert short == FRAGMENTS


def test_imports_have_no_circles() -> None:
    """Modules that import nothing, or that nothing imports, are taken away, again and again: none is left."""
    left = IMPORTS
    while free := {name for name, found in left.items() if not found} | left.keys() - set().union(*left.values()):
        left = {name: found - free for name, found in left.items() if name not in free}
    assert not left, f"on a circle, or between two: {sorted(left)}"


def level(name: str) -> int:
    """Where a module of converters/ stands."""
    fits = [known for known in LEVELS if name == known or name.startswith(f"{known}.")]
    assert fits, f"converters.{name} has no place in LEVELS"
    return LEVELS.index(max(fits, key=len))


def test_imports_inside_converters_point_one_way() -> None:
    own = {
        (name.removeprefix("converters."), other.removeprefix("converters."))
        for name, found in IMPORTS.items()
        for other in found
        if name.startswith("converters.") and other.startswith("converters.")
    }
    assert not {pair for pair in own if level(pair[1]) > level(pair[0])}


def test_architecture_names_have_one_place() -> None:
    """Words for models occur in converters/archs only; "llama" alone also names tokenizers and llama.cpp."""
    from converters.archs.registry import architectures

    names = [n for n in architectures() if n != "llama"]
    pattern = re.compile(r"[\"'](" + "|".join(map(re.escape, names)) + r")[\"']")
    for path in MODULES:
        if not inside(path).startswith(("converters/archs/", "converters/tokenizer/")):
            assert not pattern.search(path.read_text(encoding="utf-8")), path


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


@pytest.mark.parametrize("folder", READMES)
def test_readme(folder: str) -> None:
    """It is there, its links lead somewhere, and its table is what `mobius list` prints."""
    path = ROOT / folder / "README.md"
    text = path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert link.startswith("https://") or (path.parent / link).exists(), link
    if READMES[folder]:
        from mobius_cli.commands.list import TABLES

        rows = TABLES[READMES[folder]]()
        head = f"| {' | '.join(rows[0])} |\n|{'---|' * len(rows[0])}\n"
        assert head in text, f"the table of mobius list {READMES[folder]} has this head: {head}"
        assert text.partition(head)[2].partition("\n\n")[0].splitlines() == [
            f"| {' | '.join(row.values())} |" for row in rows
        ]


def test_main_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= MOST_README_LINES


def test_every_script_has_a_line() -> None:
    text = (ROOT / "scripts" / "README.md").read_text(encoding="utf-8")
    scripts = [path.name for path in (ROOT / "scripts").iterdir() if path.is_file() and path.suffix != ".md"]
    assert not [name for name in scripts if f"| `{name}` |" not in text]
