#!/usr/bin/env python3
"""Prove the tokenizers of real vocabularies against llama.cpp, and print a Markdown table.

usage: python scripts/tokenizer_matrix.py [--texts N] FILE.gguf ...

Per file: llama.cpp's own vectors where they lie beside it (FILE.gguf.inp, .out; scripts/fetch_vocabs.py), ids of N
made-up texts (2,000), texts of their ids and of N sequences of random ids, the bytes of every token, and how many texts
onnxruntime-genai, where it is installed, encodes otherwise (but for those with NUL, where it ends a text). Columns
count what differs. Exit 1 if a vector does.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
COLUMNS = ("vocabulary", "kind", "tokens", "vectors", "ids", "texts", "random ids", "token bytes", "genai ids",
           "seconds", "peak MB", "warnings")  # fmt: skip


@dataclass(frozen=True)
class Row:
    cells: tuple[str, ...]
    failed: bool


def genai_differing(folder: Path, files: Any, texts: list[str], ids: list[list[int]]) -> str:
    """How many texts onnxruntime-genai encodes otherwise; `folder` has a model that it loads."""
    from tests.support.genai import genai_ids, genai_tokenizer

    if importlib.util.find_spec("onnxruntime_genai") is None:
        return "-"
    try:
        tokenizer = genai_tokenizer(folder, files)
    except Exception:  # it does not know the pre-tokenizer, or has no such kind
        return "does not load"
    pairs = zip(texts, ids, strict=True)
    return str(sum(genai_ids(tokenizer, text) != i for text, i in pairs if "\0" not in text))


def cost(path: Path, folder: Path) -> tuple[str, str]:
    """Seconds and peak memory of an export, in a process of its own."""
    command = [sys.executable, str(ROOT / "scripts" / "export_tokenizer.py"), str(path), str(folder / "cost.json")]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return f"{found['seconds']:.2f}", str(found["peak_mb"])


def prove(path: Path, count: int, folder: Path) -> Row:
    from tokenizers import Tokenizer

    from converters.sources.gguf.file import GgufFile
    from converters.tokenizer import export_tokenizer
    from tests.converters.tokenizer.support.llama_pieces import Decoding
    from tests.converters.tokenizer.support.pre_strings import word_strings
    from tests.converters.tokenizer.support.vectors import read_vectors, some_special
    from tests.support.llama_vocab import LlamaVocab

    with GgufFile.open(path) as source:
        metadata = {key: source.metadata[key] for key in source.metadata}
    files = export_tokenizer(metadata)
    ours, llama = Tokenizer.from_buffer(files.tokenizer_json), LlamaVocab(path)
    decoding = Decoding(metadata, ours, llama)
    vectors = read_vectors(path)
    wrong = sum(ours.encode(text, add_special_tokens=False).ids != wanted for text, wanted in vectors)
    texts = word_strings(count, special=some_special(ours))
    ids = [llama.encode(text) for text in texts]
    encoded = [e.ids for e in ours.encode_batch(texts, add_special_tokens=False)]
    pre = metadata.get("tokenizer.ggml.pre")
    seconds, peak = cost(path, folder)
    cells = (
        path.stem.removeprefix("ggml-vocab-"),
        f"{metadata['tokenizer.ggml.model']}{f' / {pre}' if pre else ''}",
        f"{len(metadata['tokenizer.ggml.tokens']):,}",
        f"{wrong} of {len(vectors)}" if vectors else "-",
        str(sum(a != b for a, b in zip(encoded, ids, strict=True))),
        str(len(decoding.differing(ids))),
        str(len(decoding.differing(decoding.random_ids(count)))),
        str(len(decoding.differing_pieces())),
        genai_differing(folder, files, texts, encoded),
        seconds,
        peak,
        str(len(files.warnings)),
    )
    llama.close()
    return Row(cells, wrong > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--texts", type=int, default=2000)
    given = parser.parse_args()
    from tests.support.genai import loadable_folder

    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        folder = loadable_folder(Path(scratch))
        for path in given.files:
            row = prove(path, given.texts, folder)
            print(f"| {' | '.join(row.cells)} |", flush=True)
            failed |= row.failed
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
