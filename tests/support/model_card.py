"""The programs of a model card, as a reader takes them from it."""

import re
import subprocess
import sys
from pathlib import Path


def programs(folder: Path) -> dict[str, tuple[str, str]]:
    """Language and code of each, by the name of its runtime: the block below each heading of the second level."""
    card = (folder / "README.md").read_text(encoding="utf-8")
    found = {}
    for section in card.split("\n## ")[1:]:
        block = re.search(r"^```(\w+)\n(.*?)^```$", section, re.M | re.S)
        assert block is not None, section
        found[section.splitlines()[0]] = (block[1], block[2])
    return found


def run_python(folder: Path, title: str) -> str:
    """What a program prints when it is run as written, inside of the folder."""
    language, code = programs(folder)[title]
    assert language == "python"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
