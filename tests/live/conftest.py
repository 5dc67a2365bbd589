"""Fixtures of the tests that really run torch."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def torch_python() -> str:
    """Return a Python that has torch; where the tests are complete, there must be one."""
    named = os.environ.get("TRACELENS_TORCH_PYTHON")
    if named:
        return named
    if importlib.util.find_spec("torch") is not None:
        return sys.executable
    if os.environ.get("TRACELENS_CORPUS"):
        pytest.fail("no torch: set TRACELENS_TORCH_PYTHON, or install torch here")
    pytest.skip("no torch here, and TRACELENS_TORCH_PYTHON is not set")


@pytest.fixture(scope="session")
def torch_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment for programs: one thread, and caches that the tests share."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("TORCH")}
    room = tmp_path_factory.getbasetemp()
    room = room.parent if "PYTEST_XDIST_WORKER" in os.environ else room
    cache = os.environ.get("TORCHINDUCTOR_CACHE_DIR") or str(room / "inductor")
    return kept | {
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "TORCHINDUCTOR_CACHE_DIR": cache,
    }
