"""A child with limits: what it writes arrives, and nothing of it is left behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.live.running import is_alive
from tracelens.errors import UsageError
from tracelens.live import process, watchdog
from tracelens.live.process import Finished, Limits, StreamName
from tracelens.live.process_tree import ProcessTree

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

ROOT = str(Path(__file__).parents[2])
#: Patient enough for a busy machine, impatient enough for a test.
SHORT = Limits(patience=0.5, linger=0.3)


def run(code: str, limits: Limits = SHORT, **keywords: object) -> tuple[Finished, str, str]:
    out: dict[StreamName, list[bytes]] = {"stdout": [], "stderr": []}
    finished = process.run(
        [sys.executable, "-c", code],
        env=dict(os.environ),
        limits=limits,
        on_output=lambda stream, data: out[stream].append(data),
        **keywords,  # type: ignore[arg-type]
    )
    return finished, b"".join(out["stdout"]).decode(), b"".join(out["stderr"]).decode()


def gone(*pids: int) -> bool:
    """Wait a moment for the kernel to take them away."""
    end = time.monotonic() + 5
    while any(map(is_alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(map(is_alive, pids))


def after(seconds: float, action: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()


def test_both_streams_and_the_exit_code_arrive() -> None:
    finished, out, err = run("import sys; print('a'); print('b', file=sys.stderr); sys.exit(7)")
    assert (out, err) == ("a\n", "b\n")
    assert (finished.code, finished.signal, finished.exit_code) == (7, None, 7)
    assert finished.reason == ""
    assert finished.output == 4
    assert finished.left_behind == 0


def test_a_signal_becomes_an_exit_code_as_in_a_shell() -> None:
    finished, _, _ = run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert (finished.code, finished.signal, finished.exit_code) == (None, signal.SIGKILL, 137)
    assert finished.reason == ""


def test_what_cannot_be_started_is_misuse() -> None:
    with pytest.raises(UsageError, match=r"no-such-program: cannot be run: No such file"):
        process.run(["no-such-program"], env={})


def test_a_child_has_a_session_of_its_own_and_no_input() -> None:
    _, out, _ = run("import os, sys; print(os.getsid(0) == os.getpid(), repr(sys.stdin.read()))")
    assert out == "True ''\n"


def test_a_partial_line_arrives_before_the_child_goes_on() -> None:
    pieces: list[tuple[float, bytes]] = []
    process.run(
        [sys.executable, "-c", "import time; print('Name? ', end='', flush=True); time.sleep(1)"],
        env=dict(os.environ),
        limits=SHORT,
        on_output=lambda _, data: pieces.append((time.monotonic(), data)),
    )
    ended = time.monotonic()
    assert pieces[0][1] == b"Name? "
    assert ended - pieces[0][0] > 0.7


def test_a_child_that_takes_too_long_is_ended() -> None:
    finished, _, _ = run("while True: pass", Limits(seconds=0.5, patience=0.5))
    assert finished.reason == "time"
    assert finished.signal == signal.SIGINT
    assert finished.seconds < 10


def test_a_child_that_ignores_every_signal_is_killed() -> None:
    code = (
        "import signal, time\n"
        "for n in (signal.SIGINT, signal.SIGTERM): signal.signal(n, signal.SIG_IGN)\n"
        "while True: time.sleep(1)"
    )
    finished, _, _ = run(code, Limits(seconds=0.5, patience=0.3))
    assert (finished.reason, finished.signal) == ("time", signal.SIGKILL)


def test_a_limit_of_time_is_kept_whatever_the_patience() -> None:
    """Twice the patience of a Ctrl-C went by before."""
    code = (
        "import signal, time\n"
        "for n in (signal.SIGINT, signal.SIGTERM): signal.signal(n, signal.SIG_IGN)\n"
        "while True: time.sleep(1)"
    )
    finished, _, _ = run(code, Limits(seconds=0.5, patience=300.0, grace=0.2))
    assert (finished.reason, finished.signal) == ("time", signal.SIGKILL)
    assert finished.seconds < 300
    assert Limits().grace < Limits().patience


def test_memory_counts_the_whole_family() -> None:
    code = (
        "import subprocess, sys, time\n"
        "hog = 'import time; held = bytearray(60 << 20); time.sleep(60)'\n"
        "children = [subprocess.Popen([sys.executable, '-c', hog]) for _ in range(3)]\n"
        "print(*[child.pid for child in children], flush=True)\n"
        "time.sleep(60)"
    )
    finished, out, _ = run(code, Limits(memory=150 << 20, seconds=30, patience=0.5))
    assert finished.reason == "memory"
    assert finished.peak_memory > 150 << 20
    assert gone(*map(int, out.split()))


def test_output_has_a_limit() -> None:
    finished, _, _ = run(
        "import os\nwhile True: os.write(1, bytes(1 << 16))", Limits(output=10 << 20, patience=0.5)
    )
    assert finished.reason == "output"
    assert finished.output > 10 << 20


def test_gigabytes_of_output_pass_through() -> None:
    size = 0

    def count(stream: StreamName, data: bytes) -> None:
        nonlocal size
        del stream
        size += len(data)

    code = (
        "import os\nblock = b'x' * 99 + b'\\n'\nfor _ in range(1000): os.write(1, block * 10_000)"
    )
    finished = process.run([sys.executable, "-c", code], env=dict(os.environ), on_output=count)
    assert (finished.code, finished.output, size) == (0, 10**9, 10**9)


@pytest.mark.parametrize("leave", ["", "os.setsid()", "os.setsid(); os.fork() and os._exit(0)"])
@pytest.mark.parametrize("pipes", ["", "os.close(1); os.close(2)"])
def test_a_fork_that_outlives_the_child_is_ended(leave: str, pipes: str) -> None:
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        f"    {leave or 'pass'}\n"
        "    os.write(1, b'%d\\n' % os.getpid())\n"
        f"    {pipes or 'pass'}\n"
        "    time.sleep(60)\n"
        "    os._exit(0)\n"
        "time.sleep(0.2)"
    )
    finished, out, _ = run(code)
    assert finished.code == 0
    assert finished.left_behind == 1
    assert finished.seconds < 5
    assert gone(*map(int, out.split()))


def test_what_a_child_leaves_may_finish_by_itself() -> None:
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    time.sleep(0.5)\n"
        "    print('later', flush=True)\n"
        "    os._exit(0)"
    )
    finished, out, _ = run(code, Limits(linger=5))
    assert out == "later\n"
    assert finished.left_behind == 0


def test_ctrl_c_reaches_the_child_and_its_last_words_arrive() -> None:
    code = (
        "import time\n"
        "try:\n"
        "    print('ready ', flush=True); time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    print('saved', flush=True); raise SystemExit(3)"
    )
    seen: list[bytes] = []

    def note(stream: StreamName, data: bytes) -> None:
        del stream
        seen.append(data)
        if b"ready" in data:
            os.kill(os.getpid(), signal.SIGINT)

    finished = process.run([sys.executable, "-c", code], env=dict(os.environ), on_output=note)
    assert b"".join(seen).split() == [b"ready", b"saved"]
    assert (finished.reason, finished.code) == ("interrupted", 3)


def test_a_second_ctrl_c_does_not_wait() -> None:
    code = (
        "import signal, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "print('ready', flush=True); time.sleep(60)"
    )

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    def note(stream: StreamName, data: bytes) -> None:
        del stream
        if b"ready" in data:
            interrupt()
            after(0.5, interrupt)

    finished = process.run(
        [sys.executable, "-c", code],
        env=dict(os.environ),
        limits=Limits(patience=60),
        on_output=note,
    )
    assert (finished.reason, finished.signal) == ("interrupted", signal.SIGTERM)
    assert finished.seconds < 20


def test_our_own_handlers_are_back_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    run("pass")
    assert signal.getsignal(signal.SIGINT) is before


def test_the_child_ends_where_its_reader_fails() -> None:
    started: list[int] = []

    def fail(stream: StreamName, data: bytes) -> None:
        del stream
        started.append(int(data))
        raise RuntimeError("the terminal is gone")

    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    with pytest.raises(RuntimeError, match="terminal"):
        process.run([sys.executable, "-c", code], env=dict(os.environ), on_output=fail)
    assert gone(*started)


def test_a_directory_that_the_child_removes_is_no_trouble(tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    finished, out, _ = run("import os, shutil; shutil.rmtree(os.getcwd()); print('done')", cwd=room)
    assert (finished.code, out) == (0, "done\n")


def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        finished, out, _ = run(
            "import os, signal; os.kill(os.getppid(), signal.SIGHUP); print('done')"
        )
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (finished.reason, finished.code, out) == ("", 0, "done\n")


def start_apart(folder: Path, then: str) -> str:
    """Return a program that starts another one in a session and an environment of its own."""
    note = f"import os, pathlib, time; pathlib.Path({str(folder)!r}, str(os.getpid())).touch(); "
    return (
        f"{note}\n"
        "import subprocess, sys\n"
        f"code = {note + 'time.sleep(60)'!r}\n"
        "subprocess.Popen([sys.executable, '-c', code], env={}, start_new_session=True)\n"
        f"{then}"
    )


def forked(folder: Path, *, away: bool) -> str:
    """Return a silent program that forks: no closed pipe would end it."""
    return (
        "import os, pathlib, time\n"
        f"if os.fork() == 0 and {away}: os.setsid()\n"
        f"pathlib.Path({str(folder)!r}, str(os.getpid())).touch()\n"
        "time.sleep(60)"
    )


@pytest.mark.parametrize("how", ["near", "away", "apart", "apart and talking"])
def test_nobody_outlives_a_tracelens_that_is_killed(tmp_path: Path, how: str) -> None:
    """One that talks ends by itself at a broken pipe, and would leave its own child an orphan."""
    if how.startswith("apart"):
        talk = "while True: print('x' * 99, flush=True)"
        child = start_apart(tmp_path, talk if how.endswith("talking") else "time.sleep(60)")
    else:
        child = forked(tmp_path, away=how == "away")
    code = (
        "import os, sys\n"
        "from tracelens.live import process\n"
        f"process.run([sys.executable, '-c', {child!r}], env=dict(os.environ))"
    )
    tool = subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": ROOT})
    end = time.monotonic() + 30
    while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    pids = [int(path.name) for path in tmp_path.iterdir()]
    assert len(pids) == 2
    assert all(map(is_alive, pids))
    tool.kill()
    tool.wait(timeout=60)
    assert gone(*pids)


def test_a_tree_remembers_who_has_left_it(tmp_path: Path) -> None:
    """Its parent dead, its session and environment its own: what was seen once is known."""
    child = start_apart(tmp_path, "sys.stdin.read()")
    told: list[tuple[int, int]] = []
    popen = subprocess.Popen(
        [sys.executable, "-c", child], stdin=subprocess.PIPE, start_new_session=True
    )
    tree = ProcessTree(popen.pid, b"no mark", on_new=lambda *one: told.append(one))
    end = time.monotonic() + 30
    while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    apart = {int(path.name) for path in tmp_path.iterdir()} - {popen.pid}
    assert tree.members() == {popen.pid, *apart}
    popen.communicate(timeout=60)
    assert ProcessTree(popen.pid, b"no mark").members() == set()
    heir = ProcessTree(popen.pid, b"no mark", known=told)
    assert heir.members() == apart
    heir.send(signal.SIGKILL)
    assert gone(*apart)


def test_the_watchdog_goes_with_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    watchdogs: list[int] = []
    start = watchdog.Watchdog.__init__

    def note(self: watchdog.Watchdog, leader: int, mark: str, *, holds: Sequence[int] = ()) -> None:
        start(self, leader, mark, holds=holds)
        assert self._popen is not None
        watchdogs.append(self._popen.pid)

    with monkeypatch.context() as patch:
        patch.setattr(watchdog.Watchdog, "__init__", note)
        run("pass")
    assert len(watchdogs) == 1
    assert gone(*watchdogs)
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert process.run(["true"], env=dict(os.environ)).code == 0


def test_a_watchdog_whose_pipe_somebody_else_holds_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without its dot it would take the end of the pipe for ours, so it is ended itself."""
    monkeypatch.setattr(watchdog, "GONE", 0.3)
    dog = watchdog.Watchdog(os.getpid(), "no mark")
    assert dog._popen is not None
    assert dog._popen.stdin is not None
    held = dog._popen.stdin.fileno()
    holder = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[held]
    )
    dog.dismiss()
    assert dog._popen.returncode == -signal.SIGKILL
    holder.communicate(timeout=60)
