"""A recorded run, as the tests look at it."""

import contextlib
import gzip
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

from tests.warm import tracelens

__all__ = ["AVX512", "TRACELENS", "Ran", "Run", "ended", "is_alive", "runner"]

#: Whether the CPU has AVX-512: oneDNN's and torch's kernels for bfloat16 and int8 ask for it.
AVX512 = "avx512bw" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
TRACELENS = (sys.executable, "-c", "import sys, tracelens.cli as cli; sys.exit(cli.main())")


@dataclass
class Ran:
    """A run that is over."""

    code: int
    out: str
    err: str
    bundle: Path

    @property
    def environment(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.bundle / "environment.json").read_text())
        return found

    @property
    def log(self) -> str:
        return gzip.decompress((self.bundle / "log.txt.gz").read_bytes()).decode()

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.bundle / "report.json").read_text())
        return found


Run = Callable[..., Ran]


def runner(python: str, room: Path, environment: dict[str, str]) -> Run:
    """Return a function that records a program, given as text or as a command line."""
    count = 0

    def call(
        program: str | list[str],
        *options: str,
        quiet: bool = True,
        env: dict[str, str] | None = None,
    ) -> Ran:
        nonlocal count
        count += 1
        bundle = room / f"bundle{count}"
        if isinstance(program, str):
            script = room / f"program{count}.py"
            script.write_text(dedent(program))
            program = [python, str(script)]
        words = ["run", "-o", str(bundle), *(["-q"] if quiet else []), *options, "--", *program]
        done = tracelens(room, *words, limit=300, environment=environment | (env or {}))
        return Ran(done.returncode, done.stdout, done.stderr, bundle)

    return call


@contextlib.contextmanager
def ended(child: "subprocess.Popen[Any]", seconds: float = 120) -> Iterator[None]:
    """Have a process ended after a time, whatever the test waits for; afterwards it is over."""
    timer = threading.Timer(seconds, child.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
        child.wait(timeout=seconds)
    finally:
        timer.cancel()
        child.kill()


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that nobody has waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"
