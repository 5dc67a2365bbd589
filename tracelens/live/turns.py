"""Runs of a block that start together and make their steps in turn, a moment each.

What a machine does to one of them, it does to all: they are compared step by step, not minute by
minute, and a program whose start takes longer than its steps starts only once per side. Each run
tells over a socket that it is about to make a step whose turn is over; who goes on is said here.
What cannot be run this way is run alone, one run after the other, as ever.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, Self, TypeVar

from tracelens.live import load
from tracelens.live.ahead import available
from tracelens.live.child import Child
from tracelens.live.conditions import Strain
from tracelens.live.early import Plenty
from tracelens.live.runs import Recorded, Run, RunFailed, run_of
from tracelens.live.sides import driven
from tracelens.live.steps import Steps
from tracelens.live.workload import Side

__all__ = ["Turns", "fits", "in_turns", "samples_in_turns"]

_Found = TypeVar("_Found")

#: Runs that are made at once, at most, and the share of the free memory that they may take.
MOST, MEMORY_SHARE = 6, 0.6
#: What a run takes of which that is not known.
MEMORY = 1 << 30
#: Seconds after which a turn is given on though nobody gave it back: a run that ends does not.
HELD = 5.0
#: Seconds between two looks at it.
TICK = 0.05
#: Share of the CPU time of its steps that a run's other threads may use while it waits.
IDLE_SHARE = 0.1


class Turns:
    """Says whose turn it is.

    Args:
        path: Where the socket is made.
        count: How many take turns.
        on_mixed: Called when a run turns out to have several processes that make steps.
    """

    def __init__(self, path: Path, count: int, on_mixed: Callable[[], None] = lambda: None) -> None:
        self._count = count
        self._on_mixed = on_mixed
        self._here: dict[int, socket.socket] = {}
        self._gone: set[int] = set()
        self._waiting: set[int] = set()
        self._order: Iterator[int] = _order(count)
        self._holder: int | None = None
        self._since = 0.0
        self._over = threading.Event()
        self._selector = selectors.DefaultSelector()
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen(2 * count)
        self._server.settimeout(1)
        self._selector.register(self._server, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        #: Whether a run has several processes that make steps, and which runs have asked.
        self.is_mixed = False
        self.seen: set[int] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join(timeout=HELD)
        for one in (self._server, *self._here.values()):
            one.close()
        self._selector.close()

    def leave(self, place: int) -> None:
        """A run has ended: nobody waits for it."""
        self._gone.add(place)
        if self._holder == place:
            self._holder = None

    def _serve(self) -> None:
        while not self._over.is_set():
            for key, _ in self._selector.select(TICK):
                with contextlib.suppress(OSError):
                    self._take(key.data)
            if self.is_mixed:
                return self._release()
            if self._holder is not None and time.monotonic() - self._since > HELD:
                self._holder = None
            self._give()
        return None

    def _take(self, place: int | None) -> None:
        """Take what one run says, or one that is new."""
        if place is None:
            made, _ = self._server.accept()
            made.settimeout(1)
            if not (told := made.recv(1)):
                made.close()  # it ended before it said who it is
                return
            place = told[0]
            if place in self._here or place >= self._count:
                self.is_mixed = True  # a second process of a run: turns would make them wait
                made.close()
                return
            self._here[place] = made
            self.seen.add(place)
            self._selector.register(made, selectors.EVENT_READ, place)
        elif not self._here[place].recv(16):
            self._selector.unregister(self._here[place])
            self._gone.add(place)
        if place not in self._gone:
            self._waiting.add(place)
        if self._holder == place:
            self._holder = None

    def _give(self) -> None:
        """Give the turn to the next one that waits, as soon as everybody has come or gone."""
        waiting = self._waiting - self._gone
        is_begun = self.seen | self._gone >= set(range(self._count))
        if self._holder is not None or not is_begun or not waiting:
            return
        place = next(place for place in self._order if place in waiting)
        self._waiting.discard(place)
        with contextlib.suppress(OSError):
            self._here[place].sendall(b"g")
            self._holder, self._since = place, time.monotonic()

    def _release(self) -> None:
        """Let all go on alone, those too that are still to come: nobody takes them any more."""
        self._selector.unregister(self._server)
        self._server.close()
        for one in self._here.values():
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._on_mixed()


def _order(count: int) -> Iterator[int]:
    """Yield places without end; in each round another one is the first."""
    start = 0
    while True:
        yield from ((start + step) % count for step in range(count))
        start += 1


def fits(sides: Sequence[Side], known: Sequence[Recorded | None]) -> bool:
    """Return whether sides can be run in turn: their steps are known and end within a turn.

    The memory has to suffice as well.
    """
    if not 2 <= len(sides) <= MOST or not hasattr(socket, "AF_UNIX"):
        return False
    told = [
        driven(side) or (one and one.steps.marker) for side, one in zip(sides, known, strict=True)
    ]
    steps = [one.steps.seconds for one in known if one and one.steps.seconds]
    if any(statistics.median(seconds) > HELD / 2 for seconds in steps):
        return False
    taken = sum((one.memory if one else 0) or MEMORY for one in known)
    free = available()
    return all(told) and (not free or taken < MEMORY_SHARE * free)


def in_turns(
    child: Child,
    sides: Sequence[Side],
    known: Sequence[tuple[Recorded | None, Plenty | None]],
    folder: Path,
    seconds: float,
) -> list[Run] | None:
    """Run sides at once and in turn; None where one failed, or they did not take turns.

    Args:
        child: What runs one of them.
        sides: What to run.
        known: What their recorded runs showed, and how much of each is enough.
        folder: An empty one.
        seconds: What they may take.
    """

    def make(place: int, spec: Mapping[str, Any], stop: threading.Event) -> Steps:
        try:
            return child.plain(
                sides[place],
                _within(folder, place),
                seconds,
                plenty=known[place][1],
                turns={**spec, "seconds": seconds, **_steps_of(sides[place], known[place][0])},
                stopped=stop.is_set,
            )[0]
        except (RunFailed, KeyboardInterrupt):
            stop.set()  # the others are of no use without it
            raise

    made = _at_once(folder, len(sides), make)
    whole = [steps for steps in made.found if steps is not None and _is_alone(steps)]
    if len(whole) < len(sides):
        return None
    each = made.seconds / len(sides)
    return [run_of(steps, each, "step", made.strain) for steps in whole]


def samples_in_turns(
    child: Child, sides: Sequence[Side], usual: Recorded, folder: Path, seconds: float
) -> list[tuple[Recorded, Run] | None]:
    """Run sides with what is rare logged, at once and in turn; None for each that gives no answer.

    Args:
        child: What runs one of them.
        sides: What to run.
        usual: What the recorded run of the unchanged program showed: its calls are the steps.
        folder: An empty one.
        seconds: What they may take.
    """

    def make(place: int, spec: Mapping[str, Any], stop: threading.Event) -> Recorded:
        return child.recorded(
            sides[place],
            _within(folder, place),
            seconds,
            stop.is_set,
            timed=True,
            turns={**spec, "seconds": seconds, **_steps_of(sides[place], usual)},
        )

    made = _at_once(folder, len(sides), make)
    # What it would have taken alone, as a guess: nobody but they shared the idle processors.
    alone = made.seconds * min(1.0, load.processors() / len(sides))

    def told(each: Recorded | None) -> tuple[Recorded, Run] | None:
        if each is None or not _is_alone(each.steps):
            return None
        return replace(each, seconds=alone), run_of(each.steps, alone, "step", made.strain)

    return [told(each) for each in made.found]


class _Made(NamedTuple, Generic[_Found]):
    """What runs at once gave: None for each that failed, or did not take its turns."""

    found: list[_Found | None]
    #: What all of them took, and under which conditions each was.
    seconds: float
    strain: Strain


def _at_once(
    folder: Path,
    count: int,
    make: Callable[[int, Mapping[str, Any], threading.Event], _Found],
) -> _Made[_Found]:
    """Start runs at once, and give them turns."""
    stop = threading.Event()
    elsewhere, before, began = load.busy_elsewhere(), load.Usage.now(), time.monotonic()
    try:
        turns = Turns(folder / "turns", count, on_mixed=stop.set)  # no answer would count
    except OSError:  # the path is too long, or the system has no such sockets
        return _Made([None] * count, 0.0, Strain(elsewhere, before))

    def one(place: int) -> _Found | None:
        try:
            return make(place, {"address": str(folder / "turns"), "place": place}, stop)
        except (RunFailed, KeyboardInterrupt):
            return None
        finally:
            turns.leave(place)

    with turns, ThreadPoolExecutor(count) as pool:
        try:
            found = list(pool.map(one, range(count)))
        except BaseException:
            stop.set()
            raise
    if turns.is_mixed:
        found = [None] * count
    found = [each if place in turns.seen else None for place, each in enumerate(found)]
    used = load.Usage.now().since(before).shared(count)
    return _Made(found, time.monotonic() - began, Strain(elsewhere, used))


def _within(folder: Path, place: int) -> Path:
    made = folder / str(place)
    made.mkdir()
    return made


def _steps_of(side: Side, known: Recorded | None) -> dict[str, Any]:
    """Return which calls are steps, and how many come before the first that counts."""
    if driven(side) or known is None or known.steps.marker is None:
        return {}
    return {"callable": list(known.steps.marker), "begins": known.steps.begins}


def _is_alone(made: Steps) -> bool:
    """Return whether a run stood still while it waited, so that its steps hold all its work."""
    return made.idle_share <= IDLE_SHARE
