"""Fixtures that several tests of tokenizers share."""

from pathlib import Path

import pytest

from tests.support.genai import loadable_folder


@pytest.fixture(scope="module")
def genai_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of which onnxruntime-genai loads the model: tests put tokenizer files there."""
    pytest.importorskip("onnxruntime_genai")
    return loadable_folder(tmp_path_factory.mktemp("genai"))
