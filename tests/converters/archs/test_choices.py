"""Every mixture chooses llama.cpp's experts: counted, in every layer and at every position."""

from pathlib import Path

import numpy as np
import pytest

from mobius_cli.runtime.routed import RoutedModel
from tests.support.any_arch import CONTEXT, write_arch
from tests.support.arch_cases import all_cases
from tests.support.cli import mobius
from tests.support.llama_experts import chosen_experts
from tests.support.oracle import require_llama
from tests.support.runner import prompt

require_llama()


MIXTURES = {case.arch: name for name, case in reversed(all_cases().items()) if case.keys.get("expert_count", 0) > 1}


@pytest.mark.parametrize("name", MIXTURES.values())
def test_the_same_experts(tmp_path: Path, name: str) -> None:
    case = all_cases()[name]
    path, ids = write_arch(tmp_path / "t.gguf", case), prompt(40, 300)
    wanted = chosen_experts(path, ids, case.context or CONTEXT)
    done = mobius("convert", path, "-o", tmp_path / "onnx", "--ep", "cpu")
    assert done.exit_code == 0, done.stderr
    _, routings = RoutedModel(tmp_path / "onnx", ep=None, threads=1, accuracy_level=0).route(ids, 0, {})
    found = {routing.record.layer: np.sort(routing.experts, axis=1) for routing in routings}
    assert found and found.keys() == wanted.keys()
    for layer, experts in found.items():
        np.testing.assert_array_equal(experts, np.sort(wanted[layer], axis=1))
