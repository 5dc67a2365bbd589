"""A copy of this process does what it is given, and no trouble of its own changes what comes out.

A process that runs tests may have threads, and is not copied then: each of these is a program.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tracelens.copies import may_copy
from tracelens.judging import halves

LIMIT = 120.0
ONLY_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux only")
HEAD = """
import os, signal, time
from tracelens.copies import Beside, may_copy
from tracelens.judging import halves
home = os.getpid()
def trouble(what):
    if os.getpid() != home:
        what()
"""


def said(program: str, *, head: str = HEAD) -> str:
    done = subprocess.run(
        [sys.executable, "-c", head + program],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.strip()


@ONLY_LINUX
def test_a_copy_does_the_work_and_its_answer_comes_back() -> None:
    assert said("print(Beside(lambda: os.getpid() != home).result(60))") == "(True,)"
    assert said("print(len(Beside(lambda: 'x' * 5_000_000).result(60)[0]))") == "5000000"


@ONLY_LINUX
@pytest.mark.parametrize(
    "trouble",
    ["os.kill(os.getpid(), signal.SIGKILL)", "1 / 0", "time.sleep(600)", "os._exit(3)", "exit()"],
)
def test_where_a_copy_fails_there_is_no_answer(trouble: str) -> None:
    assert said(f"print(Beside(lambda: {trouble}).result(1.0))") == "None"


@ONLY_LINUX
def test_no_copy_is_left_and_what_it_prints_is_not_shown() -> None:
    program = """
def work():
    print("from a copy", flush=True)
    time.sleep(600)
beside = Beside(work)
beside.end()
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("none")
"""
    assert said(program) == "none"


@ONLY_LINUX
def test_where_there_is_no_room_for_a_copy_no_pipe_is_left_open() -> None:
    program = """
import resource
def opened():
    return len(os.listdir("/proc/self/fd"))
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
if os.getuid() == 0:
    os.setuid(65534)  # root has no such limit
before = opened()
print(Beside(lambda: 1).result(1.0), opened() - before)
"""
    assert said(program) == "None 0"


@ONLY_LINUX
def test_work_is_shared_and_each_piece_answers_in_its_place() -> None:
    program = """
def piece(number):
    def work():
        time.sleep(0.02)
        return number, os.getpid() == home
    return work
found = halves.done([piece(number) for number in range(40)])
print([number for number, _ in found] == list(range(40)), {here for _, here in found})
"""
    assert said(program) == "True {False, True}"


@ONLY_LINUX
def test_what_a_copy_that_is_killed_had_begun_is_done_here() -> None:
    program = """
def piece(number):
    def work():
        time.sleep(0.02)
        if number == 30:
            trouble(lambda: os.kill(os.getpid(), signal.SIGKILL))
        return number
    return work
print(halves.done([piece(number) for number in range(40)]) == list(range(40)))
"""
    assert said(program) == "True"


@ONLY_LINUX
def test_what_is_raised_in_a_copy_is_raised_here() -> None:
    program = """
def last():
    time.sleep(0.02)
    raise ValueError("of the last one")
try:
    halves.done([lambda: time.sleep(0.02)] * 10 + [last])
except ValueError as error:
    print(error)
"""
    assert said(program) == "of the last one"


def test_without_the_signals_of_posix_all_is_done_here() -> None:
    lacks = "import signal, sys; vars(signal).pop('SIGALRM', None)"
    program = "sys.platform = 'win32'; print(halves.done([os.getpid]) == [home])"
    assert said(program, head=lacks + HEAD) == "True"


def test_a_process_with_threads_is_not_copied() -> None:
    let_go = threading.Event()
    thread = threading.Thread(target=let_go.wait, args=(LIMIT,))
    thread.start()
    try:
        assert not may_copy()
        assert halves.done([lambda: 1, lambda: 2]) == [1, 2]
    finally:
        let_go.set()
        thread.join(LIMIT)
    assert halves.done([]) == []
