"""The corpus of real logs, which lies outside the project and is found by ``TRACELENS_CORPUS``."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

__all__ = ["ROOT", "cases", "log_of", "needs_corpus", "truth"]

#: The folder that holds ``corpus/`` and ``traces/``; None where the variable is not set.
ROOT = Path(os.environ["TRACELENS_CORPUS"]) if "TRACELENS_CORPUS" in os.environ else None

needs_corpus = pytest.mark.skipif(ROOT is None, reason="TRACELENS_CORPUS is not set")


def cases(pattern: str) -> list[Path]:
    """Return the case folders that match ``pattern`` under ``corpus/``; none without the corpus.

    Raises:
        FileNotFoundError: The variable is set and nothing matches: a silent skip would hide it.
    """
    if ROOT is None:
        return []
    found = sorted(path for path in (ROOT / "corpus").glob(pattern) if path.is_dir())
    if not found:
        raise FileNotFoundError(f"{ROOT}/corpus/{pattern}: nothing there")
    return found


def log_of(case: Path) -> str:
    """Return the log of a case folder."""
    (log,) = case.glob("log.txt*")
    return str(log)


def truth(case: Path) -> dict[str, Any]:
    """Return what was recorded from inside the process."""
    (path,) = case.glob("truth.json*")
    data = path.read_bytes()
    facts: dict[str, Any] = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    return facts
