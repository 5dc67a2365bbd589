"""Other processes share work, and no trouble of theirs changes what comes out."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import chores
from tracelens import workers
from tracelens.workers import shared

LIMIT = 300.0


def test_results_come_in_order_from_other_processes() -> None:
    found = list(shared(chores.square, range(9), count=2, seconds=LIMIT))
    assert [one[0] for one in found] == [number * number for number in range(9)]
    assert os.getpid() not in {one[1] for one in found}
    assert 1 <= len({one[1] for one in found}) <= 2


def test_a_worker_that_is_killed_changes_nothing() -> None:
    tasks = [(os.getpid(), number) for number in range(5)]
    assert list(shared(chores.die, tasks, count=2, seconds=LIMIT)) == [0, 1, 2, 3, 4]


def test_a_worker_that_hangs_is_given_up() -> None:
    tasks = [(os.getpid(), number) for number in range(3)]
    assert list(shared(chores.hang, tasks, count=1, seconds=3.0)) == [0, 1, 2]


def test_without_an_interpreter_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "may_copy", lambda: False)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    found = list(shared(chores.square, [2, 3], count=2, seconds=LIMIT))
    assert found == [(4, os.getpid()), (9, os.getpid())]


def test_where_pipes_cannot_be_waited_for_all_is_done_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    found = list(shared(chores.square, [2, 3], count=2, seconds=LIMIT))
    assert found == [(4, os.getpid()), (9, os.getpid())]


def test_a_lock_that_a_thread_holds_is_free_in_a_worker() -> None:
    let_go, held = threading.Event(), threading.Event()

    def hold() -> None:
        with chores.HELD:
            held.set()
            let_go.wait(LIMIT)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(LIMIT)
        assert list(shared(chores.is_free, [1], count=1, seconds=LIMIT)) == [True]
    finally:
        let_go.set()
        thread.join(LIMIT)


def test_what_is_raised_is_raised_here() -> None:
    results = shared(chores.refuse, [1, 2, 3], count=2, seconds=LIMIT)
    assert next(results) == 1
    with pytest.raises(ValueError, match="2"):
        next(results)


def test_prints_and_large_answers_come_through() -> None:
    assert list(shared(chores.chatter, [7], count=1, seconds=LIMIT)) == [7]
    sizes = [0, 5_000_000, 1]
    assert [len(one) for one in shared(chores.large, sizes, count=2, seconds=LIMIT)] == sizes


def test_no_worker_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    start = workers._started

    def started(others: Sequence[workers._Process]) -> workers._Process:
        process = start(others)
        begun.append(process.pid)
        return process

    monkeypatch.setattr(workers, "_started", started)
    results = shared(chores.square, range(50), count=2, seconds=LIMIT)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert len(begun) == 2
    for pid in begun:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def test_a_script_that_guards_nothing_may_use_several(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    line = b"onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,,,,4x4,0.01\n"
    log.write_bytes(line * 8000)
    script = tmp_path / "script.py"
    script.write_text(
        "from tracelens.source import ranges, read\n"
        "ranges.MIN_RANGE = 1000\n"
        f"_, (one,) = read([{str(log)!r}], jobs=2)\n"
        "print(one.lines, one.kinds)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert (done.stdout, done.stderr) == ("8000 {'onednn_verbose': 8000}\n", "")
