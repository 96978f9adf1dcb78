"""Mixtures behind dense layers: what a file must say of its router, and what is known where it does not."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from converters.archs.describe import describe
from converters.sources.gguf.file import GgufFile
from converters.spec import SIGMOID, SOFTMAX, Experts
from repack.errors import MobiusError
from tests.support.any_arch import write_arch
from tests.support.arch_cases import all_cases
from tests.support.oracle import require_llama

require_llama()
LATENT = "deepseek2: deepseek2 unfolded, one matrix for queries"


@pytest.mark.parametrize(
    ("case", "keys", "message"),
    [
        ("dots1: dots1 usual", {"expert_gating_func": 0}, "dots1.expert_gating_func is 0"),
        ("bailingmoe2: bailingmoe2 usual", {"expert_gating_func": 4}, "bailingmoe2.expert_gating_func is 4"),
        ("glm4moe: glm4moe usual", {"expert_shared_count": 0}, "expert_shared_count is 0"),
        ("deepseek2-ocr: deepseek2-ocr usual", {"rope.freq_base": 20000.0}, "needs rope.freq_base 10000"),
        ("deepseek2-ocr: deepseek2-ocr usual", {"attention.head_count_kv": 2}, "needs rope.freq_base 10000"),
        ("bailingmoe: bailingmoe usual", {"rope.dimension_count": 32}, "differs from the head's 64"),
    ],
)
def test_refusals(tmp_path: Path, case: str, keys: dict[str, Any], message: str) -> None:
    path = write_arch(tmp_path / "t.gguf", replace(all_cases()[case], untold_keys=keys))
    with GgufFile.open(path) as source, pytest.raises(MobiusError, match=message):
        describe(source)


@pytest.mark.parametrize(
    ("layers", "vocab", "scores"),
    [(47, 154880, SIGMOID), (48, 154880, SIGMOID), (47, 320, SOFTMAX), (3, 154880, SOFTMAX)],
)
def test_router_of_files_that_do_not_say(tmp_path: Path, layers: int, vocab: int, scores: str) -> None:
    """llama.cpp knows GLM-4.7-Flash by its size; such a file is too large here, so it is described only."""
    with GgufFile.open(write_arch(tmp_path / "t.gguf", all_cases()[LATENT])) as source:
        embedding = replace(source.tensors["token_embd.weight"], shape=(vocab, 256))
        last = {f"blk.{layers - 1}.attn_norm.weight": source.tensors["blk.0.attn_norm.weight"]}
        spec, _ = describe(
            SimpleNamespace(  # type: ignore[arg-type]
                path=source.path,
                half_split=False,
                metadata={**source.metadata, "deepseek2.block_count": layers},
                tensors={**source.tensors, **last, "token_embd.weight": embedding},
            )
        )
    assert [m.router.scores for m in spec.modules() if isinstance(m, Experts)] == [scores] * (layers - 1)


def test_indexers(tmp_path: Path) -> None:
    """llama.cpp attends to all positions in one architecture that has them, which is said, and to few in the other."""
    path = write_arch(tmp_path / "t.gguf", all_cases()["glm-dsa: glm-dsa sigmoid by default"])
    with GgufFile.open(path) as source:
        assert "glm-dsa.attention.indexer.top_k = 2048 is ignored, as llama.cpp does" in " ".join(describe(source)[1])
        other = SimpleNamespace(metadata={"general.architecture": "deepseek32"}, tensors={})
    with pytest.raises(MobiusError, match="'deepseek32' is not supported: its attention picks positions by an indexer"):
        describe(other)  # type: ignore[arg-type]
