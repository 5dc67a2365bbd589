"""A run with everything switched on, into one bundle directory.

=====================  ===========================================================================
``log.txt.gz``         the program's output and all logs, in order of arrival
``environment.json``   the command, the machine, what each process told about torch and its steps
``torch_trace/``       the structured log (``TORCH_TRACE``)
``trace.json.gz``      a profiler trace of some steady steps, on request
``report.json``        the analysis; also ``report.html``
=====================  ===========================================================================
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal

from tracelens.errors import SourceError, UsageError
from tracelens.experiment import UNCHANGED, Knob, Value
from tracelens.live import ending, environment, injection, load, process, steps
from tracelens.live.facts import begin_environment, end_environment
from tracelens.live.injection import Trace
from tracelens.live.logfile import LogFile
from tracelens.live.process import Enough, Finished, Limits, StreamName
from tracelens.live.run_cache import beside
from tracelens.live.splitting import Pieces, Splitter
from tracelens.live.stdin import Copied
from tracelens.live.steps import NO_STEPS, Process, Steps

__all__ = [
    "Artifacts",
    "Recording",
    "Wishes",
    "prepare",
    "record",
    "unused",
]

Artifacts = Literal["full", "lean"]
#: How the note begins that says that the log could not be written to its end.
CUT = "the log is not complete"
Show = Callable[[StreamName, bytes], None]

#: Logs that torch 2.1 knows: set even where the injection cannot run.
FIRST = {
    "full": ("guards", "recompiles", "graph_breaks", "output_code", "perf_hints", "schedule"),
    "lean": ("recompiles", "graph_breaks", "perf_hints"),
}
#: Logs that the child's torch is asked for where it knows them.
MORE = {
    "full": (
        *FIRST["full"], "recompiles_verbose", "cudagraphs", "fusion", "autotuning",
        "inductor_metrics", "dynamic", "graph_code", "aot_graphs",
    ),
    "lean": (*FIRST["lean"], "cudagraphs"),
}  # fmt: skip
#: Logs of what is rare, which does not change how long a step takes.
RARE = ("recompiles", "graph_breaks")
#: What a process tells while it runs; hidden from ``tracelens analyze``.
TOLD = ".processes"
#: A graph that comes out of a cache is neither lowered nor tuned, and so not logged. Compiled
#: kernels may be used again.
LOWER_ANEW = {"TORCHINDUCTOR_FX_GRAPH_CACHE": "0", "TORCHINDUCTOR_AUTOGRAD_CACHE": "0"}
TUNE_ANEW: dict[str, Value] = {"torch._inductor.config.autotune_local_cache": False}
#: The files of a bundle that we write; others are not ours to remove.
OURS = ("report.json", "report.html", "log.txt.gz", "environment.json", "stdin.gz")


@dataclass(frozen=True)
class Wishes:
    """What to record of a run."""

    artifacts: Artifacts = "full"
    trace: Trace | None = None
    limits: Limits | None = None
    knob: Knob = UNCHANGED
    #: Whether Python programs write their output line by line, as they do on a terminal.
    lively: bool = False
    #: Whether graphs may come out of caches that earlier runs have filled.
    keep_caches: bool = False
    #: Bytes of text that are kept of the log's head and of its tail.
    log_head: int = 256 << 20
    log_tail: int = 256 << 20
    #: When the run is to end before its end; None lets it run.
    enough: Enough | None = None
    #: Whether its steps are what is asked: only rare events are logged, nothing of each step, and
    #: what the first calls return is told.
    timed: bool = False
    #: With whom it takes turns, see :mod:`tracelens.live.turns`.
    turns: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Recording:
    """A bundle, and what became of the run."""

    folder: Path
    finished: Finished
    #: What could not be recorded.
    notes: tuple[str, ...] = ()
    #: Processes that imported torch, and compilations in all of them.
    processes: int = 0
    compiles: int = 0
    #: Files of Python code that these processes read.
    sources: tuple[str, ...] = ()
    #: How the program ended, in words: ``well``, ``signal 11 (SIGSEGV) ended it``.
    ended: str = "well"
    #: The steps of the process that made most of them; none unless they were asked for.
    steps: Steps = NO_STEPS


def unused(folder: Path) -> Path:
    """Return ``folder``, or the same name with the next free number where it is taken."""
    number, free = 1, folder
    while free.exists():
        number += 1
        free = folder.with_name(f"{folder.name}-{number}")
    return free


def prepare(folder: Path) -> Path:
    """Make a bundle's directory, or empty the bundle that is in it, and return its path.

    Raises:
        UsageError: It holds something else, or cannot be made.
    """
    folder = folder.absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = {path.name for path in folder.iterdir()}
        if held and "log.txt.gz" not in held:
            raise UsageError(f"{folder}: is not empty, and no recording", hint="-o NEW_DIR")
        for name in (*OURS, *(name for name in held if _is_trace(name))):
            (folder / name).unlink(missing_ok=True)
        for name in (TOLD, "torch_trace", beside(folder / "report.json").name):
            shutil.rmtree(folder / name, ignore_errors=True)
        (folder / TOLD).mkdir()
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}") from error
    return folder


def _is_trace(name: str) -> bool:
    return name.startswith("trace") and name.endswith(".json.gz")


def record(
    argv: Sequence[str],
    folder: Path,
    *,
    base: Mapping[str, str],
    cwd: Path | None = None,
    wishes: Wishes | None = None,
    show: Show | None = None,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
) -> Recording:
    """Run a command and record it into ``folder``, which :func:`prepare` has returned.

    Args:
        argv: The command.
        folder: Where the bundle goes.
        base: The environment to start from.
        cwd: Where the command runs.
        wishes: What to record.
        show: Called with what the program itself writes, and nothing else, as it arrives.
        stdin: The program's standard input.

    Raises:
        UsageError: The command cannot be started.
        SourceError: The log cannot be written.
    """
    wishes = wishes or Wishes()
    facts: dict[str, Any] = {"command": list(argv), "machine": environment.machine(base)}
    tape = _Tape(folder, wishes, show or _nowhere)
    begin_environment(folder, facts)
    killed = load.killed_for_memory()
    try:
        with Copied(stdin, folder) as given:
            finished = process.run(
                argv,
                env=_environment(wishes, folder, base),
                cwd=cwd,
                limits=wishes.limits,
                enough=wishes.enough,
                on_output=tape.take,
                on_pause=tape.pause,
                stdin=given.file,
            )
    except BaseException:
        tape.close(b"")
        raise
    told = _told(folder)
    # A program without torch leaves a log without a word of ours: there is nothing to analyze.
    ended = ending.how(finished, killed_for_memory=load.killed_for_memory() > killed)
    last = environment.log_lines(told, whole=finished.code == 0, ended=ended)
    tape.close(last if told else b"")
    notes = [*tape.notes, *_keep_traces(folder, told), *environment.notes(told)]
    facts |= {
        "finished": asdict(finished),
        "exit_code": finished.exit_code,
        "ended": ended,
        "artifacts": wishes.artifacts,
        "log": {"left_out_lines": tape.log.left_out_lines},
        "processes": [environment.told(one) for one in told],
        "notes": notes,
    }
    shutil.rmtree(folder / TOLD, ignore_errors=True)  # first: the disk may be full
    if missing := end_environment(folder, facts):
        notes.append(missing)
    compiles = sum(len(one.compiles) for one in told)
    sources = tuple(sorted({path for one in told for path in one.sources}))
    made = steps.most(told) if wishes.timed else NO_STEPS
    return Recording(folder, finished, tuple(notes), len(told), compiles, sources, ended, made)


def _nowhere(stream: StreamName, data: bytes) -> None:
    del stream, data


class _Tape:
    """Takes what the child writes: the program's words to the terminal, everything to the log."""

    def __init__(self, folder: Path, wishes: Wishes, show: Show) -> None:
        try:
            self.log = LogFile(folder / "log.txt.gz", head=wishes.log_head, tail=wishes.log_tail)
        except OSError as error:
            raise SourceError(f"{folder}: cannot be written: {error.strerror}") from error
        self.notes: list[str] = []
        self._show = show
        self._splitters: dict[StreamName, Splitter] = {"stdout": Splitter(), "stderr": Splitter()}

    def take(self, stream: StreamName, data: bytes) -> None:
        """Take some bytes; none is the end of the stream."""
        splitter = self._splitters[stream]
        self._pass_on(stream, splitter.feed(data) if data else splitter.close())

    def pause(self) -> None:
        """Pass on unfinished lines: a prompt, a progress bar."""
        for stream, splitter in self._splitters.items():
            self._pass_on(stream, Pieces(shown=splitter.pause()))
        self._tried(self.log.tick)

    def close(self, last: bytes) -> None:
        """Write what is left."""
        for stream, splitter in self._splitters.items():
            self._pass_on(stream, splitter.close())
        self._tried(self.log.close, last)

    def _pass_on(self, stream: StreamName, pieces: Pieces) -> None:
        if pieces.shown:
            self._show(stream, pieces.shown)
        self._keep(pieces.logged)

    def _keep(self, lines: bytes) -> None:
        self._tried(self.log.write, lines)

    def _tried(self, what: Callable[..., None], *given: bytes) -> None:
        """Do something to the log; a full disk must not end the program, and is told once."""
        try:
            what(*given)
        except OSError as error:
            self._keep = _forget  # type: ignore[method-assign]
            said = f"{CUT}: {error.strerror}"
            self.notes += [said] if said not in self.notes else []


def _forget(lines: bytes) -> None:
    del lines


def _environment(wishes: Wishes, folder: Path, base: Mapping[str, str]) -> dict[str, str]:
    """Return the child's environment: our switches beside those that the user has set."""
    if wishes.timed:
        return _timed(wishes, folder, base)
    full = wishes.artifacts == "full"
    switches = {"TORCH_LOGS": _torch_logs(base.get("TORCH_LOGS", ""), FIRST[wishes.artifacts])}
    if not base.keys() & {"ONEDNN_VERBOSE", "DNNL_VERBOSE", "MKLDNN_VERBOSE"}:
        switches["ONEDNN_VERBOSE"] = "1"
    if not wishes.keep_caches:
        switches |= {name: text for name, text in LOWER_ANEW.items() if name not in base}
    if full and "TORCH_TRACE" not in base:
        switches["TORCH_TRACE"] = str(folder / "torch_trace")
    # Another format than torch's own could not be told from the program's output.
    plain = {name: text for name, text in base.items() if name != "TORCH_LOGS_FORMAT"}
    return injection.environment(
        wishes.knob,
        folder / TOLD,
        base=plain | switches,
        trace=wishes.trace,
        logs=MORE[wishes.artifacts],
        lively=wishes.lively,
        silent={} if wishes.keep_caches else TUNE_ANEW,
        onednn="all" if full and switches.get("ONEDNN_VERBOSE") else "",
        sizes=True,
    )


def _timed(wishes: Wishes, folder: Path, base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a child whose steps are timed while what is rare is logged."""
    plain = {name: text for name, text in base.items() if name != "TORCH_LOGS_FORMAT"}
    plain["TORCH_LOGS"] = _torch_logs(base.get("TORCH_LOGS", ""), RARE)
    return injection.environment(
        wishes.knob,
        folder / TOLD,
        base=plain,
        logs=RARE,
        sync=True,
        outputs=True,
        turns=wishes.turns,
    )


def _torch_logs(given: str, ours: Sequence[str]) -> str:
    """Add our logs to those that the user has asked for."""
    words = [word.strip() for word in given.split(",") if word.strip()]
    if not {"help", "+help"}.isdisjoint(words):
        return given
    named = {word.lstrip("+-") for word in words}
    return ",".join([*words, *(word for word in ours if word not in named)])


def _told(folder: Path) -> list[Process]:
    return steps.processes(folder / TOLD) if (folder / TOLD).is_dir() else []


def _keep_traces(folder: Path, told: Sequence[Process]) -> Iterator[str]:
    """Move the traces into the bundle, that of the process with most steps first."""
    taken = [one for one in told if one.trace and (folder / TOLD / one.trace).is_file()]
    taken.sort(key=lambda one: (-one.steps().calls, str(one.process.get("rank") or "")))
    for number, one in enumerate(taken):
        name = f"trace-{number + 1}.json.gz" if number else "trace.json.gz"
        try:
            (folder / TOLD / one.trace).replace(folder / name)
        except OSError as error:
            yield f"{name}: cannot be written: {error.strerror}"
