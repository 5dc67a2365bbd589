"""What Dask and the stores leave behind goes before other tests begin."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def swept() -> Iterator[None]:
    """Collect what is left, here where a warning about it fails no other test."""
    yield
    for _ in range(2):
        gc.collect()
