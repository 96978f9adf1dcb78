"""onnxruntime-genai on a model folder, as its users call it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from converters.tokenizer import TokenizerFiles
from mobius_cli.app import app
from tests.support.tiny import write_tiny


def genai_greedy(folder: Path, ids: list[int], count: int) -> list[int]:
    """Up to `count` tokens after `ids`, most likely first; ends after a stop token."""
    import onnxruntime_genai as og

    model = og.Model(str(folder))
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=len(ids) + count, do_sample=False)
    generator = og.Generator(model, params)
    generator.append_tokens(ids)
    tokens: list[int] = []
    while not generator.is_done() and len(tokens) < count:
        generator.generate_next_token()
        tokens.append(int(generator.get_next_tokens()[0]))
    return tokens


def loadable_folder(path: Path) -> Path:
    """A folder of which onnxruntime-genai loads the model, so that it looks at the tokenizer."""
    write_tiny(path / "tiny.gguf", "llama", types={".": "Q8_0"}, tokenizer="bpe", n_vocab=320)
    done = CliRunner().invoke(app, ["convert", str(path / "tiny.gguf"), "-o", str(path / "model"), "--ep", "cpu"])
    assert done.exit_code == 0, done.stderr
    return path / "model"


def genai_tokenizer(folder: Path, files: TokenizerFiles) -> Any:
    """Its tokenizer for these files, which are put into the folder."""
    import onnxruntime_genai as og

    (folder / "tokenizer.json").write_bytes(files.tokenizer_json)
    (folder / "tokenizer_config.json").write_text(json.dumps(files.tokenizer_config), encoding="utf-8")
    return og.Tokenizer(og.Model(str(folder)))


def genai_ids(tokenizer: Any, text: str) -> list[int] | str:
    """The ids, or what went wrong."""
    try:
        return [int(i) for i in tokenizer.encode(text)]
    except RuntimeError as error:
        return str(error)
