"""Commands that are killed at some moment, and what must be there then."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from tracelens.report import saved

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "fixtures" / "logs" / "samples" / "aarch64-bf16-linear.log"
BREAKS = next((ROOT / "fixtures" / "rules").glob("GBR001-*/fires-*.log"))
CALL = "import sys; from tracelens.cli import main; sys.exit(main())"
#: How long a command may take to end after it was told to, and a whole one at most.
LIMIT_S = 120
POLITE = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: It says which process it is, then a line of oneDNN a little at a time.
TALKING = """
import os, sys, time
open('pid', 'w').write(str(os.getpid()))
for number in range(4000):
    print('onednn_verbose,v1,primitive,exec,cpu,matmul,ref:any,undef,'
          'src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0,,,'
          f'{number}x4:4x4,0.1', flush=True)
    time.sleep(0.0005)
"""
LINE = re.compile(rb"onednn_verbose,[^\n]*?,(\d+)x4:4x4,0\.1\n")


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    (folder / "tmp").mkdir(exist_ok=True)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "tmp")}
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        return subprocess.Popen(
            [sys.executable, "-c", CALL, *words],
            cwd=folder,
            env=environment,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )


def whole(folder: Path, *words: str) -> int:
    child = start(folder, *words)
    return wait(child)


def wait(child: subprocess.Popen[bytes]) -> int:
    """Return how a command ended; one that does not is killed, with all that it started.

    Raises:
        subprocess.TimeoutExpired: It did not.
    """
    try:
        return child.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait(LIMIT_S)
        raise


def kill(
    child: subprocess.Popen[bytes], how: signal.Signals, ready: Callable[[], bool], after: float
) -> int:
    """Send a signal some time after something is so; return how the command ended."""
    end = time.monotonic() + LIMIT_S
    while child.poll() is None and not ready() and time.monotonic() < end:
        time.sleep(0.0005)
    time.sleep(after)
    child.send_signal(how)
    return wait(child)


def parts(folder: Path) -> list[Path]:
    return list(folder.glob(".tracelens-*.part"))


def is_gone(folder: Path) -> bool:
    """Wait until the program that was started has ended."""
    pid, end = folder / "pid", time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        if not pid.exists() or not pid.read_text() or not Path("/proc", pid.read_text()).exists():
            return True
        time.sleep(0.05)
    return False


def analyze(folder: Path, chance: random.Random, how: signal.Signals) -> str:
    """Kill ``analyze`` while it overwrites two reports: each is the old or the new one, whole."""
    words = ("analyze", str(SAMPLE), "-q", "-o", "report.md", "-o", "report.json")
    names = ("report.md", "report.json")
    assert whole(folder, "analyze", str(BREAKS), "-q", "-o", names[0], "-o", names[1]) in {0, 1}
    old = {name: (folder / name).read_bytes() for name in names}
    at_write = chance.random() < 0.6
    child = start(folder, *words)
    if at_write:
        seen = lambda: bool(parts(folder))  # noqa: E731 -- read where it is used
        code = kill(child, how, seen, chance.choice((0, 0, 0.0003, 0.002)))
    else:
        code = kill(child, how, lambda: True, chance.uniform(0, 2.0))
    now = {name: (folder / name).read_bytes() for name in names}
    left = parts(folder)
    if how != signal.SIGKILL:
        assert not left, f"{how.name}: left behind: {[one.name for one in left]}"
    assert whole(folder, *words) in {0, 1}
    new = {name: (folder / name).read_bytes() for name in names}
    wrong = [name for name in names if now[name] not in {old[name], new[name]}]
    assert not wrong, f"{how.name}: neither the old nor the new: {wrong}"
    state = "".join("new" if now[name] == new[name] else "old" for name in names)
    return f"{state}, at the write" if at_write else f"{state}, {'ended' if code >= 0 else 'cut'}"


def run(folder: Path, chance: random.Random, how: signal.Signals) -> str:
    """Kill ``run``: what was passed on is in the log, and no program is left."""
    child = start(folder, "run", "-o", "rec", "--", sys.executable, "-c", TALKING)
    shown = lambda: (folder / "out").stat().st_size > 0  # noqa: E731 -- read where it is used
    early = chance.random() < 0.3
    ready = (folder / "rec").exists if early else shown
    kill(child, how, ready, chance.uniform(0, 0.05 if early else 1.5))
    assert is_gone(folder), f"{how.name}: the program is still there"
    passed = [int(one) for one in LINE.findall((folder / "out").read_bytes())]
    packed = folder / "rec" / "log.txt.gz"
    if not packed.exists():
        assert not passed, f"{how.name}: {len(passed)} lines, and no log"
        return "before the log"
    kept = [
        int(one) for one in LINE.findall(zlib.decompressobj(31).decompress(packed.read_bytes()))
    ]
    assert kept == list(range(len(kept))), f"{how.name}: a gap in the log"
    assert len(kept) >= len(passed), f"{how.name}: {len(passed)} lines seen, {len(kept)} kept"
    told = json.loads((folder / "rec" / "environment.json").read_text())
    assert told["command"]
    code = whole(folder, "analyze", "rec", "-q", "-o", "report.json")
    assert code in ({0, 1} if kept else {0, 1, 2}), (folder / "err").read_text()[-500:]
    return "with lines" if kept else "empty log"


def confirm(folder: Path, chance: random.Random, how: signal.Signals) -> str:
    """Kill ``confirm``: the report is whole and has what was found out, no program is left."""
    from tests.live.reports import finding, report

    path = folder / "report.json"
    path.write_text(report(finding(), finding("RCP007", 2)).to_json())
    program = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(0.3)"
    child = start(
        folder, *("confirm", "report.json", "--minutes", "0.3", "--", sys.executable, "-c", program)
    )
    told = folder / "pid"
    at_write = chance.random() < 0.4
    ready = (lambda: bool(parts(folder))) if at_write else told.exists
    kill(child, how, ready, 0 if at_write else chance.uniform(0, 2.5))
    said = (folder / "err").read_text().count(" inconclusive: ")
    assert is_gone(folder), f"{how.name}: the program is still there"
    kept = saved.load(str(path))
    states = [one.confirmation.state for one in kept.findings]
    assert len(states) == 2
    settled = sum(state != "not_tried" for state in states)
    assert settled >= said - 1, f"{how.name}: {said} told, {settled} in the report"
    if how != signal.SIGKILL:
        assert not parts(folder), f"{how.name}: left behind"
        assert not list((folder / "tmp").iterdir()), f"{how.name}: temporary files"
    return f"{settled} of 2 settled"


COMMANDS = {"analyze": analyze, "run": run, "confirm": confirm}


def one(command: str, folder: Path, seed: int, number: int) -> str:
    """Kill a command in an empty folder; return what there was then.

    Raises:
        AssertionError: Something was lost, broken or left behind.
    """
    chance = random.Random(f"{seed}:{command}:{number}")
    how = signal.SIGKILL if chance.random() < 0.5 else chance.choice(POLITE)
    return COMMANDS[command](folder, chance, how)
