"""What is published: equal sources give equal bytes."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_packs import ROOT

BUILD = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"


def built(folder: Path) -> tuple[str, str]:
    """Build a wheel; return its name and its digest."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)],
        cwd=ROOT,
        env={"SOURCE_DATE_EPOCH": "1700000000", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    name = done.stdout.strip().splitlines()[-1]
    return name, hashlib.sha256((folder / name).read_bytes()).hexdigest()


def test_a_wheel_is_the_same_bytes_twice(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    assert built(tmp_path / "first") == built(tmp_path / "second")
