"""What is published: equal sources give equal bytes."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_packs import ROOT

BUILD = "import sys; from hatchling.build import build_{0}; print(build_{0}(sys.argv[1]))"


def built(folder: Path, what: str) -> tuple[str, str]:
    """Build a wheel or an sdist; return its name and its digest."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", BUILD.format(what), str(folder)],
        cwd=ROOT,
        env={"SOURCE_DATE_EPOCH": "1700000000", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    name = done.stdout.strip().splitlines()[-1]
    return name, hashlib.sha256((folder / name).read_bytes()).hexdigest()


@pytest.mark.parametrize("what", ["wheel", "sdist"])
def test_what_is_published_is_the_same_bytes_twice(tmp_path: Path, what: str) -> None:
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    assert built(tmp_path / "first", what) == built(tmp_path / "second", what)
