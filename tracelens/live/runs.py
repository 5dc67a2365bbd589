"""What runs of the laboratory showed: with logging, and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tracelens.live import conditions
from tracelens.live.conditions import Strain
from tracelens.live.statistics import LOOKS, MIN_ITERATIONS
from tracelens.live.steps import Steps
from tracelens.report import Report

__all__ = ["Recorded", "Run", "RunFailed", "crowding", "refuse_few_steps", "run_of"]

#: Steps after the last compilation that still fill caches, at most a quarter of all.
WARM_UP = 5
#: Share of the time of compiling that warm caches save, and of a run that is left in any case.
SAVED, LEFT = 0.6, 0.25


class RunFailed(Exception):
    """A run ended badly; the message says how."""


@dataclass(frozen=True)
class Recorded:
    """What one run with logging showed."""

    report: Report
    steps: Steps
    seconds: float
    #: Versions, threads and the like, as the child itself sees them.
    about: Mapping[str, str]
    #: The files of Python code that it read, with the hashes of what is in them.
    sources: Mapping[str, str] = field(default_factory=dict)
    #: Of all processes: compilations; settings read back (name, in force, value); what could not
    #: be done; and whether any of them told at all.
    compiles: int = 0
    force: tuple[tuple[str, bool, str], ...] = ()
    notes: tuple[str, ...] = ()
    told: bool = False
    #: Bytes of resident memory at the worst moment; 0 where that is not known.
    memory: int = 0

    @property
    def timed_seconds(self) -> float:
        """Seconds that the same takes, as a guess, where it is timed: compile caches are warm."""
        return max(self.seconds - SAVED * self.steps.compile_seconds, LEFT * self.seconds)


@dataclass(frozen=True)
class Run:
    """One run without logging."""

    #: Milliseconds, after warm-up: of its steps, or the one of the whole run.
    times: tuple[float, ...]
    #: From its start to its end; of runs that took turns, the part of one of the time of all.
    seconds: float
    strain: Strain
    #: Calls of the compiled callable whose steps these are.
    calls: int = 0
    #: The same in CPU time, of the process with its threads; empty where that is not known.
    cpu: tuple[float, ...] = ()
    #: Calls before the first of these steps; None where they are not calls of the program's.
    first: int | None = None
    #: Milliseconds of the first call, and bytes resident at the worst moment; 0 where not known.
    first_ms: float = 0.0
    peak_bytes: int = 0


def run_of(steps: Steps, seconds: float, of: Literal["step", "run"], strain: Strain) -> Run:
    """Return the times of a run in milliseconds: of its steps after warm-up, or of all of it."""
    if of == "run":
        used = strain.usage.cpu_seconds * 1e3
        return Run((seconds * 1e3,), seconds, strain, steps.calls, (used,) if used > 0 else ())
    skipped = min(WARM_UP, len(steps.seconds) // 4)
    times, used_by = (
        tuple(max(one, 1e-9) * 1e3 for one in row[skipped:])
        for row in (steps.seconds, steps.cpu_seconds)
    )
    is_whole = len(used_by) == len(times)
    first = steps.begins + skipped if steps.marker is not None else None
    return Run(
        times,
        seconds,
        strain,
        steps.calls,
        used_by if is_whole else (),
        first,
        steps.first_seconds * 1e3,
        steps.peak_bytes,
    )


def refuse_few_steps(block: Sequence[Run]) -> None:
    """Refuse to go on with a program of which no number of blocks will give enough steps.

    Raises:
        RunFailed: It is such a program.
    """
    run = min(block, key=lambda run: len(run.times))
    steady = len(run.times)
    if steady * LOOKS[-1] < MIN_ITERATIONS:
        raise RunFailed(
            f"{run.calls} compiled calls per run, {steady} of them after warm-up, are too "
            f"few for {MIN_ITERATIONS} in {LOOKS[-1]} blocks: let the program make more of them, "
            "or name an --entry"
        )


def crowding(blocks: Sequence[Sequence[Run]]) -> dict[str, str]:
    """Return how crowded the machine was around runs, on both sides, in words."""
    unchanged = [run.strain for block in blocks for run in block[:2]]
    return conditions.crowding(unchanged, [block[2].strain for block in blocks])
