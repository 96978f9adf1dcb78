"""The merges that a file lists, one a line: `tokenizer.ggml.merges`."""

from collections.abc import Mapping
from typing import Any

from converters.tokenizer.vocabulary import KEY
from repack.errors import MobiusError


def read_merges(metadata: Mapping[str, Any], ids: Mapping[str, int], warnings: list[str]) -> dict[tuple[int, int], int]:
    """Ids of the two tokens of each merge, in order, and its rank; a warning counts those that name no tokens."""
    lines = metadata.get(KEY + "merges")
    if lines is None:
        raise MobiusError("the file has a BPE vocabulary but no merges (tokenizer.ggml.merges)")
    merges: dict[tuple[int, int], int] = {}
    unusable = 0
    for line in lines:
        left, _, right = line.partition(" ")
        a, b = ids.get(left), ids.get(right)
        # llama.cpp never merges a part with a space in it, and `tokenizers` does not load such a line.
        if a is not None and b is not None and left + right in ids and " " not in right:
            merges.setdefault((a, b), len(merges))  # of equal merges the first counts
        else:
            unusable += 1
    if unusable:
        warnings.append(f"{unusable} merges name tokens that are not in the vocabulary: left out")
    return merges
