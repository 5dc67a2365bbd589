"""CGR004 counts the sizes that a CUDA graph was recorded for, and asks who chose them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Confidence, Severity


@pytest.mark.parametrize(
    ("sizes", "severity"),
    [
        ((10, 13, 16), None),
        ((10, 13, 16, 19), Severity.INFO),
        ((8, 16, 24, 32), None),
        (tuple(range(10, 18)), Severity.INFO),
        (tuple(range(10, 19)), Severity.WARNING),
        (tuple(range(8, 80, 8)), Severity.NONE),
    ],
)
def test_how_many_sizes_and_whether_they_were_chosen(
    sizes: tuple[int, ...], severity: Severity | None, tmp_path: Path
) -> None:
    log = tmp_path / "run.log"
    log.write_text("".join(f"Recording cudagraph tree for symint key {n}\n" for n in sizes))
    found = [one for one in analyze(str(log)).findings if one.code == "CGR004"]
    assert [one.severity for one in found] == ([] if severity is None else [severity])
    if severity is Severity.INFO:
        assert found[0].confidence is Confidence.LOW


WARNED = (
    "W1120 14:51:50.247000 14058 torch/_inductor/cudagraph_utils.py:516] [__cudagraphs] CUDAGraph "
    "supports dynamic shapes by recording a new graph for each distinct input size. Recording too "
    "many CUDAGraphs may lead to extra overhead. We have observed 51 distinct sizes. Please "
    "consider the following options for better performance: a) padding inputs to a few fixed "
    "number of shapes; or b) set torch._inductor.config.triton.cudagraph_skip_dynamic_graphs=True."
)


def test_torch_has_counted_more_sizes_than_a_cut_log_shows(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    shown = "".join(f"Recording cudagraph tree for symint key {n}\n" for n in (10, 13, 16, 19, 22))
    log.write_text(f"{WARNED}\n{shown}")
    (found,) = [one for one in analyze(str(log)).findings if one.code == "CGR004"]
    assert found.severity is Severity.WARNING
    assert "51 sizes" in found.title
