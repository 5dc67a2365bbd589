"""What the processes of a run told about their steps: ``process-PID.jsonl``, see ``inject``."""

from __future__ import annotations

import itertools
import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracelens.live.numerics import Output

__all__ = ["NO_STEPS", "Call", "Process", "Steps", "most", "processes", "read"]

#: Seconds per nanosecond.
_NS = 1e-9


@dataclass(frozen=True)
class Call:
    """An outermost call of a compiled callable, or a compilation; times in nanoseconds."""

    number: int
    start: int
    end: int
    #: CPU time that the process and its threads had used before it; 0 where that is not known.
    cpu: int = 0


@dataclass
class Process:
    """What one process told."""

    about: dict[str, Any] = field(default_factory=dict)
    #: ``pid``, ``parent``, ``argv``, ``python``, ``began`` ...
    process: dict[str, Any] = field(default_factory=dict)
    callables: dict[int, str] = field(default_factory=dict)
    #: How and where the program asked for each: ``torch.compile(Net)``, ``/proj/train.py:12``.
    asked: dict[int, tuple[str, str]] = field(default_factory=dict)
    #: How the first dimension of its first tensor changed from call to call.
    sizes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    compiles: list[Call] = field(default_factory=list)
    #: Steps that our own driver has timed, in blocks: seconds per step, number of steps.
    blocks: list[tuple[float, int]] = field(default_factory=list)
    #: Seconds of CPU time per step, of the same blocks.
    block_cpu: list[float] = field(default_factory=list)
    #: Settings that took effect: name, value before, value set.
    settings: list[tuple[str, Any, Any]] = field(default_factory=list)
    #: Settings and variables read back where something was compiled: name, in force, value.
    force: list[tuple[str, bool, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: The files of code that it read.
    sources: list[str] = field(default_factory=list)
    #: The trace's file name, when one was taken.
    trace: str = ""
    ended: int | None = None
    #: Bytes that were resident at the worst moment; 0 where that is not known.
    peak: int = 0
    #: What the first calls returned, where that was asked.
    outputs: list[Output] = field(default_factory=list)
    #: Nanoseconds of CPU time that its threads used while it waited for its turn.
    idle: int = 0

    @property
    def marker(self) -> int | None:
        """The compiled callable that was called most often; None when none was."""
        counts = Counter(call.number for call in self.calls)
        return max(counts, key=lambda number: (counts[number], -number)) if counts else None

    def steps(self) -> Steps:
        """Return the steps that this process made."""
        marker = self.marker
        calls = [call for call in self.calls if call.number == marker]
        steady = _longest_stretch(calls, self.compiles)
        last = max((c.end for c in (*self.calls, *self.compiles)), default=0)
        began = int(self.process.get("began", 0))
        driven = tuple(seconds for seconds, _ in self.blocks)
        return Steps(
            seconds=driven
            or tuple((b.start - a.start) * _NS for a, b in itertools.pairwise(steady)),
            cpu_seconds=tuple(self.block_cpu)
            or tuple((b.cpu - a.cpu) * _NS for a, b in itertools.pairwise(steady) if b.cpu),
            first_seconds=(calls[0].end - calls[0].start) * _NS if calls else 0.0,
            peak_bytes=self.peak,
            call_seconds=tuple((call.end - call.start) * _NS for call in steady),
            calls=sum(number for _, number in self.blocks) or len(calls),
            marker=(marker, self.callables.get(marker, "")) if marker is not None else None,
            begins=calls.index(steady[0]) if steady else len(calls),
            compiles=len(self.compiles),
            compile_seconds=sum(c.end - c.start for c in self.compiles) * _NS,
            run_seconds=max(0, (self.ended or last or began) - began) * _NS,
            settings=tuple(name for name, _, _ in self.settings),
            notes=tuple(self.notes),
            outputs=tuple(self.outputs),
            idle_share=self._idle_share(steady),
        )

    def _idle_share(self, steady: Sequence[Call]) -> float:
        used = sum(cpu * many for cpu, (_, many) in zip(self.block_cpu, self.blocks, strict=False))
        if not self.blocks and steady:
            used = (steady[-1].cpu - steady[0].cpu) * _NS
        return self.idle * _NS / used if used > 0 else 0.0


def _longest_stretch(calls: list[Call], compiles: list[Call]) -> list[Call]:
    """Return the most calls in a row between which nothing was compiled, the later at a tie.

    Mostly these are the calls after the last compilation; a program that trains and then validates
    compiles once more at its end.
    """
    starts, ends = (sorted(getattr(c, name) for c in compiles) for name in ("start", "end"))
    stretches: dict[int, list[Call]] = {}
    for call in calls:
        if bisect_left(starts, call.start) == bisect_left(starts, call.end):
            stretches.setdefault(bisect_right(ends, call.start), []).append(call)
    return max(reversed(stretches.values()), key=len, default=[])


@dataclass(frozen=True)
class Steps:
    """The steps of a run. Seconds."""

    #: Steady steps: from start to start of successive outermost calls of the most-called compiled
    #: callable, in the longest stretch without a compilation. In training they cover the backward
    #: pass and the optimizer. Where our own driver made them: one value per block of steps.
    seconds: tuple[float, ...] = ()
    #: The CPU time of the same steps, of the process with all its threads; empty if not known.
    cpu_seconds: tuple[float, ...] = ()
    #: The calls themselves, from start to end. On an accelerator this is the time to launch them,
    #: unless the run waited for it.
    call_seconds: tuple[float, ...] = ()
    #: The first call of that callable, with what it compiled; 0 where it is not known.
    first_seconds: float = 0.0
    #: Memory that was resident at the worst moment; 0 where it is not known.
    peak_bytes: int = 0
    #: Calls of that callable, also those that compiled.
    calls: int = 0
    #: Its number and name, and how many calls of it were before that stretch.
    marker: tuple[int, str] | None = None
    begins: int = 0
    compiles: int = 0
    compile_seconds: float = 0.0
    #: From the start of the interpreter to its end.
    run_seconds: float = 0.0
    #: Settings of the knob that took effect.
    settings: tuple[str, ...] = ()
    #: What could not be done: a setting that does not exist, a trace that was not taken.
    notes: tuple[str, ...] = ()
    #: What the first calls returned, where that was asked.
    outputs: tuple[Output, ...] = ()
    #: CPU time that its threads used while it waited for its turn, which no step holds, by that of
    #: all its steps.
    idle_share: float = 0.0


#: What a run without any process that told something has.
NO_STEPS = Steps()


def read(folder: Path) -> Steps:
    """Return the steps of the process that made most of them; none when there is no file."""
    return most(processes(folder))


def most(told: Sequence[Process]) -> Steps:
    """Return the steps of the process that made most of them; none when there is no process."""
    found = [process.steps() for process in told]
    return max(found, key=lambda steps: (steps.calls, steps.run_seconds), default=NO_STEPS)


def processes(folder: Path) -> list[Process]:
    """Return what every process in ``folder`` told, by process id."""
    names = sorted(folder.glob("process-*.jsonl"), key=lambda path: int(path.stem[8:]))
    return [_process(path) for path in names]


def _process(path: Path) -> Process:
    process = Process()
    for line in _lines(path):
        if isinstance(line, list) and line[:1] == ["call"] and len(line) in {4, 5}:
            process.calls.append(Call(*map(int, line[1:])))
        elif isinstance(line, list) and line[:1] == ["compile"] and len(line) == 3:
            process.compiles.append(Call(-1, *map(int, line[1:])))
        elif isinstance(line, list) and line[:1] == ["waited"] and len(line) == 5:
            process.idle += int(line[4])
        elif isinstance(line, list) and line[:1] == ["step"] and len(line) in {3, 4}:
            process.blocks.append((float(line[1]), int(line[2])))
            process.block_cpu += map(float, line[3:])
        elif isinstance(line, dict):
            for key, value in line.items():
                _take(process, key, value)
    return process


def _take(process: Process, key: str, value: Any) -> None:
    match key:
        case "process":
            process.process = value
        case "callable" | "sizes":
            _take_callable(process, key, value)
        case "set":
            process.settings.append((value[0], value[1], value[2]))
        case "force":
            process.force.append((str(value[0]), bool(value[1]), str(value[2])))
        case "note":
            process.notes.append(str(value))
        case "about":
            process.about |= value
        case "sources":
            process.sources = [str(path) for path in value]
        case "trace":
            process.trace = str(value[0])
        case "output":
            number, call, given, tensors = value
            numbers = tuple(tuple(map(float, tensor)) for tensor in tensors)
            process.outputs.append(Output(int(number), int(call), str(given), numbers))
        case "peak":
            process.peak = int(value)
        case "ended":
            process.ended = int(value)


def _take_callable(process: Process, key: str, value: Any) -> None:
    number = int(value[0])
    if key == "sizes":
        process.sizes[number] = tuple(map(int, value[1]))
        return
    process.callables[number] = str(value[1])
    if len(value) == 4:
        process.asked[number] = (str(value[2]), str(value[3]))


def _lines(path: Path) -> Iterator[Any]:
    """Yield the decoded lines; the last one may be torn, where the process was killed."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue
