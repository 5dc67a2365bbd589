"""Ranks beside a log that only reading places are put together as they are read."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from tests.test_runs import log, runs
from tracelens.evidence import Evidence
from tracelens.fleet import gathering
from tracelens.fleet.tasks import Done, Task, do
from tracelens.source import groups

RANKS = 8


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return ranks of one job, and one that begins hours later under the number of the first."""
    for rank in range(RANKS):
        log(tmp_path / f"rank{rank}.log", pid=20 + rank)
    log(tmp_path / f"rank{RANKS}.log", pid=20, clock="14:00:00.000000")
    return tmp_path


def test_what_is_read_of_ranks_is_not_all_held_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (group,) = groups([str(path) for path in sorted(folder.iterdir())])
    assert [len(part) for part in group.parts] == [RANKS, 1]
    held: list[int] = []

    def counted(task: Task, progress: object = None) -> Done:
        del progress
        gc.collect()
        held.append(sum(type(one) is Evidence for one in gc.get_objects()) - before)
        return do(task)

    gc.collect()
    before = sum(type(one) is Evidence for one in gc.get_objects())
    monkeypatch.setattr(gathering, "do", counted)
    runs(folder)
    assert len(held) == RANKS + 1
    assert max(held) <= 2


def test_the_late_one_is_a_run_of_its_own(folder: Path) -> None:
    late = f"rank{RANKS}.log"
    assert runs(folder) == {
        "run1": {f"rank{rank}.log" for rank in range(RANKS)},
        "run2": {late},
    }


def test_one_that_overlaps_joins_them_in_order(tmp_path: Path) -> None:
    for rank in range(3):
        log(tmp_path / f"rank{rank}.log", pid=20 + rank)
    log(tmp_path / "beside.log", pid=21)
    (names,) = runs(tmp_path).values()
    assert names == {"rank0.log", "rank1.log", "rank2.log", "beside.log"}
