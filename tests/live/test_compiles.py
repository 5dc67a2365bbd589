"""A test of a model says what its compilation must be like."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.live

ROOT = Path(__file__).parents[2]

TEST = """
import logging
import torch
import pytest

def healthy(x):
    return torch.relu(x + 1) * 2

def chatty(x):
    print("x", x.shape)
    return x + 1

def sized(x, n):
    return x * n

x = torch.ones(8)

def test_healthy(compiles):
    with compiles(healthy, x) as c:
        c(x + 1)
    c.breaks(0).recompiles(max=0).no("ONE001", "GBR").fuses("add+relu")

def test_breaks(compiles):
    with compiles(chatty, x, backend="eager") as c:
        pass
    c.breaks(1).breaks(0)

def test_recompiles(tracelens_compiles):
    with tracelens_compiles(sized, backend="eager") as c:
        for n in range(2, 6):
            c(x, n)
    c.breaks(0).recompiles(max=3).no("RCP", "GBR").recompiles(max=0)

def test_rule(compiles):
    with compiles(chatty, x, backend="eager") as c:
        pass
    c.no("print-or-builtin")

def test_fusion(compiles):
    with compiles(healthy, x) as c:
        pass
    c.fuses("add+relu", "linear+gelu")

def test_early(compiles):
    with pytest.raises(Exception, match="the recording goes on"):
        with compiles(healthy, x, backend="eager") as c:
            c.breaks(0)
"""


def test_in_five_lines_with_a_short_failure(
    tmp_path: Path, torch_environment: dict[str, str]
) -> None:
    (tmp_path / "test_model.py").write_text(TEST)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_model.py"]
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env=torch_environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    out = done.stdout
    assert "4 failed, 2 passed" in out, out + done.stderr
    told = out[out.index("= FAILURES") : out.index("short test summary")]
    assert "1 graph breaks, at most 0 expected" in told
    assert "fix: Remove the print, or move it out" in told
    assert "findings of RCP, GBR, none expected" in told or "recompilations, at most 0" in told
    assert "1 findings of print-or-builtin, none expected" in told
    assert "no kernel fuses linear+gelu; there is: add_" in told
    assert "Captured log" not in told
    assert len(told.splitlines()) <= 4 * 40


def test_without_pytest(tmp_path: Path) -> None:
    program = (
        "import torch, tracelens\n"
        "with tracelens.compiles(lambda x: x.relu() + 1, torch.ones(4), backend='eager') as c:\n"
        "    pass\n"
        "c.breaks(0)\n"
        "print('as expected', len(c.report.findings) >= 0)\n"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout == "as expected True\n", done.stderr
    assert list(tmp_path.iterdir()) == []
