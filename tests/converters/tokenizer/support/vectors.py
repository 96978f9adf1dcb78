"""llama.cpp's own vectors of a vocabulary, and the special tokens that made-up texts get."""

from pathlib import Path

from tokenizers import Tokenizer

SEPARATOR = "\n__ggml_vocab_test__\n"


def read_vectors(path: Path) -> list[tuple[str, list[int]]]:
    """Texts and their ids, from the files beside a vocabulary; none if it has no such files."""
    inputs, outputs = (path.with_name(f"{path.name}{end}") for end in (".inp", ".out"))
    if not inputs.exists():
        return []
    texts = inputs.read_bytes().decode().removesuffix(SEPARATOR).split(SEPARATOR)
    ids = [[int(number) for number in line.split()] for line in outputs.read_text().splitlines()]
    return list(zip(texts, ids, strict=True))


def some_special(tokenizer: Tokenizer) -> list[str]:
    """Some tokens that are found in the text before anything else, also ones that the model never writes."""
    found = sorted(token.content for token in tokenizer.get_added_tokens_decoder().values())
    return found[:: len(found) // 40 + 1]
