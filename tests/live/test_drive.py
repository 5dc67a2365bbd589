"""How the driver measures: how many steps make a block, whatever the first call took."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live.test_aa import STUB
from tracelens.live.micro import DRIVER

pytestmark = pytest.mark.live

#: The first call takes longer than the warm-up may: it compiles, or others were at work.
SLOW_START = """
import time

calls = []


def work():
    calls.append(1)
    time.sleep(1.2 if len(calls) == 1 else 0.001)


def setup():
    return work
"""


def test_a_slow_first_call_does_not_make_the_blocks_short(tmp_path: Path) -> None:
    """Sides whose blocks are of other lengths meet the scheduler in another way."""
    for path, text in STUB.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "program.py").write_text(SLOW_START)
    words = ["--program", str(tmp_path / "program.py"), "--seconds", "0"]
    told = {"TRACELENS_LIVE": json.dumps({"folder": str(tmp_path)}), "PYTHONPATH": str(tmp_path)}
    subprocess.run(
        [sys.executable, str(DRIVER), *words], env=os.environ | told, check=True, timeout=300
    )
    (made,) = tmp_path.glob("process-*.jsonl")
    rows = [json.loads(line) for line in made.read_text().splitlines()]
    assert all(1 < number <= 10 for _, _, number, _ in rows)
    assert len({number for _, _, number, _ in rows}) == 1
