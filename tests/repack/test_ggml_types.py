"""ggml's types are what the `gguf` package says of them, as far as it knows them."""

import gguf

from repack.ggml_types import GGML_TYPES


def test_numbers_and_sizes() -> None:
    theirs = {kind.name: (int(kind), *gguf.GGML_QUANT_SIZES[kind]) for kind in gguf.GGMLQuantizationType}
    ours = {name: (kind.number, kind.weights, kind.size) for name, kind in GGML_TYPES.items()}
    assert {name: ours[name] for name in theirs} == theirs
    assert set(ours) - set(theirs) <= {"Q1_0", "Q2_0"}
    assert len({kind.number for kind in GGML_TYPES.values()}) == len(GGML_TYPES)
