"""Commands of ours, and of pytest, in processes that have what is built in imported.

That is what takes longest.

A process of tests has threads, one of which may hold a lock when it forks. So it starts one that
has none, and that one forks for each command. Whatever a command does, it is ended when its time
is up.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from tracelens import analyze, cli
from tracelens.cli._app import command
from tracelens.plugins import manifest, registry

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "fixtures" / "logs" / "samples" / "aarch64-bf16-linear.log"
#: What a command may take, which takes less than one second on an idle machine.
LIMIT_S = 120
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
#: How long it takes to import everything, and to notice that a command is over.
SPARE_S = 120
#: What commands import when they need it.
LATE = ("tracelens.render.text", "tracelens.render.json", "tracelens.live.process", "syrupy")
#: What is remembered of what is installed.
CACHES = (
    registry._entries,
    registry.versions,
    registry.declared_files,
    registry._found,
    manifest._current,
)


class Done(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


class Server:
    """The process that forks."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        atexit.register(self.close)

    def run(
        self, folder: Path, words: tuple[str, ...], limit: int, environment: Mapping[str, str]
    ) -> int:
        """Return how the command ended: the exit code, or the signal as a negative number.

        Raises:
            TimeoutError: It did not end.
            EOFError: The process that forks did.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps([str(folder), words, limit, dict(environment)])}\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], limit + SPARE_S)[0]:
            raise TimeoutError
        if not (answer := self._process.stdout.readline()):
            raise EOFError
        return int(answer)

    def close(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            with self._process:
                self._process.wait(SPARE_S)


@cache
def server() -> Server:
    return Server()


def tracelens(
    folder: Path,
    *words: str,
    limit: int = LIMIT_S,
    environment: Mapping[str, str] | None = None,
    settings: Mapping[str, str] = NO_SETTINGS,
) -> Done:
    """Run a command in ``folder``, with the packs installed in its folder ``site``.

    ``settings`` are further variables of its environment. What it printed is in the files
    ``stdout`` and ``stderr`` in ``folder``.
    """
    given = os.environ | {"TRACELENS_CACHE": ""} if environment is None else environment
    return _done(folder, ("tracelens", *words), limit, {**given, **settings})


def run_pytest(folder: Path, *words: str) -> Done:
    """Run the tests in ``folder``, as those of a pack: not as part of this run."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return _done(folder, ("pytest", *words), LIMIT_S, ours)


def _done(folder: Path, words: tuple[str, ...], limit: int, environment: Mapping[str, str]) -> Done:
    try:
        code = server().run(folder, words, limit, environment)
    except (TimeoutError, EOFError, BrokenPipeError) as error:
        server().close()
        server.cache_clear()
        code, said = -signal.SIGKILL, type(error).__name__
    else:
        said = ""
    out, err = (_text(folder / name) for name in ("stdout", "stderr"))
    assert code >= 0, f"{' '.join(words)}: {signal.Signals(-code).name} {said}\n{err}"
    return Done(code, out, err)


def _text(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def serve() -> None:
    """Fork for every command that is asked for."""
    analyze(str(SAMPLE))
    for name in ("analyze", "run", "confirm"):
        command([name])
    for name in LATE:
        importlib.import_module(name)
    gc.freeze()  # so that a fork that collects garbage copies none of it
    assert len(list(Path("/proc/self/task").glob("*"))) <= 1, "a thread may hold a lock at the fork"
    for line in sys.stdin:
        folder, words, limit, environment = json.loads(line)
        if not (child := os.fork()):
            _run(Path(folder), words, limit, environment)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


def _run(folder: Path, words: list[str], limit: int, environment: dict[str, str]) -> None:
    code = 99
    try:
        signal.alarm(limit)
        for number, name in enumerate(("stdout", "stderr"), 1):
            os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        if (site := folder / "site").exists():
            sys.path.insert(0, str(site))
            sys.dont_write_bytecode = True
            for cached in CACHES:
                cached.cache_clear()
        program, *given = words
        code = int(pytest.main(given)) if program == "pytest" else cli.main(given)
    except SystemExit as error:
        code = int(error.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
