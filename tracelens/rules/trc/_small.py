"""Programs on the CPU whose operators are many and small: calling them is what they cost."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from tracelens.evidence import Seen
from tracelens.logs.chrome_trace import Operator
from tracelens.traces.measured import KernelWork, SelfTime, Window

__all__ = [
    "MANY_READS",
    "MIN_READING",
    "ONE_ELEMENT",
    "Small",
    "backward_passes",
    "cells_one_by_one",
    "of_one_row",
    "recurrent_ms",
    "selected",
    "singles",
    "small_operators",
    "titled",
]

#: Operators, and milliseconds for each in all, from which and up to which they are many small ones.
MIN_CALLS = 200
MAX_PER_CALL_MS = 0.02
#: Share of the trace that operators which are longer may have.
MAX_LARGE = 0.5
#: The same where calling them is surely more than what they do: one call takes 1 to 5 us.
MUCH_CALLS = 2_000
MUCH_PER_CALL_MS = 0.005
MUCH_MS = 20.0
#: Up to so many milliseconds for each, without the profiler's, it is so where three fifths are
#: outside of them or what
#: entering one takes, and longer ones have little.
SOME_PER_CALL_MS = 0.0125
ENTERING_MS = 0.002
MIN_CALLING = 0.6
MAX_SOME_LARGE = 0.35
#: What views take, which compute nothing, milliseconds for each: a machine that is slower, or busy,
#: takes longer for all calls. From so many on, and up to so many times as long.
VIEWS = frozenset({"aten::as_strided", "aten::t", "aten::transpose", "aten::view"})
VIEW_MS = 0.001
MIN_VIEWS = 200
MAX_SLOW = 8.0
#: Share of the trace that is left at least without the longer operators and the profiler's part.
MUCH_LEFT = 0.2
#: Share of the trace that the optimizer, and compiled code, may have: other rules tell of them.
MAX_TOLD = 0.5
MAX_COMPILED = 0.1
#: ... and share of the optimizer from which on it may be what reads single results.
MAX_OPTIMIZING = 0.2
#: Results that are read one by one from which on that is a finding of its own, and the share of the
#: trace that they are reckoned with.
MANY_READS = 1_000
MIN_READING = 0.1
#: The operator that reads one element, and how many others it brings: a selection, a view, a copy.
ONE_ELEMENT = "aten::item"
ONE_ELEMENT_COSTS = 8
#: ... and among how many others results that are read one by one are worth a word.
MAX_TO_READ = 50
#: Operators whose result is as large as the data says: each ends a compiled graph. How often they
#: must come, and among how many others, to be what a loop does.
SIZING = ("aten::nonzero", "aten::masked_select", "aten::unique_dim", "aten::_unique2")
MIN_SIZING = 100
MAX_BETWEEN = 500
#: ... and up to how many others they are most of the loop, and the share that is left at least.
MAX_IN_LOOP = 100
LOOP_LEFT = 0.3
#: Modules that Dynamo skips as a whole.
RECURRENT = frozenset({"aten::gru", "aten::lstm", "aten::rnn_tanh", "aten::rnn_relu"})
#: Share of the trace, but for the optimizer, from which on what they do is the story of it; and how
#: many times as long as the forward pass both take.
MIN_RECURRENT = 0.5
WITH_BACKWARD = 3.0
#: What reads single elements, with what brings them, and the share of all calls that they have
#: where more than eight come with each: to compare two of them takes twice as many.
READING = frozenset(
    f"aten::{name}"
    for name in ("item", "is_nonzero", "_local_scalar_dense", "select", "as_strided", "unbind")
)
MIN_READERS = 0.5


class Small(NamedTuple):
    """Many small operators."""

    calls: int
    each_ms: float
    #: Single elements that were read, where that is what the operators are there for.
    reads: int
    #: Whether they are the steps of a recurrent module, which torch leaves uncompiled.
    recurrent: bool
    #: What is neither in longer operators nor the profiler's, milliseconds.
    left_ms: float
    #: Whether that is what holds the program up.
    much: bool
    #: Results whose size depends on the data, where they are many.
    sizing: int = 0
    #: Results that are read, where they are many among others.
    read: int = 0
    #: Cells of recurrent modules that are called one by one, where these are the story of it.
    cells: int = 0

    def reading_ms(self) -> float:
        """How long reading them takes, with what brings each: reckoned by the operators' number."""
        return self.read * ONE_ELEMENT_COSTS * self.each_ms


def small_operators(
    whole: Window,
    own: list[Seen[SelfTime]],
    called: dict[str, int],
    *,
    passes: int = 0,
    recurrent_ms: float | None = None,
    cells: int = 0,
) -> Small | None:
    """Return what the operators of a trace cost by being called; None where they are not small.

    Where backward passes are many, they need not be: each does what one could do for all.
    ``recurrent_ms`` is how long recurrent modules take, with their backward pass; without it any
    such module counts.
    """
    calls = sum(called.values())
    slow = _slow(own, called)
    each = ((row.record.ms, called.get(row.record.name, 0)) for row in own)
    large = sum(ms for ms, count in each if ms > slow * MAX_PER_CALL_MS * count > 0)
    longer = whole.ms > slow * MAX_PER_CALL_MS * calls and not passes
    if calls < MIN_CALLS or longer or large >= MAX_LARGE * whole.ms:
        return None
    inside = sum(row.record.ms for row in own if row.record.name in called)
    read = called.get(ONE_ELEMENT, 0)
    recurrent = not RECURRENT.isdisjoint(called)
    if recurrent_ms is not None:
        least = MIN_RECURRENT * (whole.ms - (whole.optimizer_ms or 0.0))
        recurrent = recurrent and recurrent_ms >= least
    reads = read if read >= MIN_CALLS and _reads(read, called, calls) else 0
    left = max(0.0, whole.ms - large - whole.added_ms - (whole.optimizer_ms or 0.0))
    much = (
        calls >= MUCH_CALLS
        and whole.ms >= MUCH_MS
        and (
            whole.ms <= slow * MUCH_PER_CALL_MS * calls
            or _calling(whole, slow * calls, large, inside)
        )
        and left >= MUCH_LEFT * whole.ms
        and (whole.optimizer_ms or 0.0) < MAX_TOLD * whole.ms
        and (whole.compiled_ms or 0.0) + (whole.compile_ms or 0.0) < MAX_COMPILED * whole.ms
    ) or (passes > 0 and left >= MUCH_LEFT * whole.ms)
    sized = sum(called.get(name, 0) for name in SIZING)
    sizing = sized if sized >= MIN_SIZING and MAX_BETWEEN * sized >= calls else 0
    # Each selects a few rows of what a loop goes over again and again.
    loops = sizing > 0 and calls <= MAX_IN_LOOP * sizing and whole.ms >= MUCH_MS
    much = much or (loops and left >= LOOP_LEFT * whole.ms)
    # A loop that selects reads what it has selected, an optimizer its counters.
    others = sizing or (whole.optimizer_ms or 0.0) >= MAX_OPTIMIZING * whole.ms
    some = read if read >= MIN_CALLS and MAX_TO_READ * read >= calls and not others else 0
    return Small(calls, whole.ms / calls, reads, recurrent, left, much, sizing, some, cells)


def _reads(read: int, called: dict[str, int], calls: int) -> bool:
    """Tell whether operators are mostly there to read single elements."""
    if ONE_ELEMENT_COSTS * read >= calls:
        return True
    with_it = sum(called.get(name, 0) for name in READING)
    return 2 * ONE_ELEMENT_COSTS * read >= calls and with_it >= MIN_READERS * calls


def recurrent_ms(rows: Iterable[Seen[Operator]], *, trained: bool) -> float:
    """Return how long recurrent modules take; to train them takes twice as long again."""
    ms = sum(row.ms for row in rows if str(row.record) in RECURRENT)
    return ms * (WITH_BACKWARD if trained else 1.0)


#: Cells of recurrent modules; how many are a sequence, and their share of the trace, but for the
#: optimizer.
CELLS = frozenset(
    {"aten::lstm_cell", "aten::gru_cell", "aten::rnn_tanh_cell", "aten::rnn_relu_cell"}
)
MIN_CELLS = 50
MIN_IN_CELLS = 0.35


def cells_one_by_one(whole: Window, rows: Iterable[Seen[Operator]], *, trained: bool) -> int:
    """Return how many cells of recurrent modules are called, where they are most of a trace."""
    mine = [row for row in rows if str(row.record) in CELLS]
    ms = sum(row.ms for row in mine) * (WITH_BACKWARD if trained else 1.0)
    cells = sum(row.count for row in mine)
    least = MIN_IN_CELLS * (whole.ms - (whole.optimizer_ms or 0.0))
    return cells if cells >= MIN_CELLS and ms >= least else 0


def titled(small: Small, *, passes: int, stacked: int) -> str:
    """Return what the operators are there for, as far as it is known, in one line."""
    calls = f"{small.calls:,}"
    known = (
        (passes, f"{passes} backward passes run in each step, one after the other"),
        (
            small.sizing and not small.reads,
            f"a loop selects rows by what they hold, {small.sizing:,} times, to do little",
        ),
        (small.recurrent, f"a recurrent module takes its steps one by one, in {calls} operators"),
        (
            small.reads,
            f"single elements of tensors are read {small.reads:,} times, an operator each",
        ),
        (stacked, f"{stacked:,} results are read one by one, among {calls} small operators"),
        (small.cells, f"{small.cells:,} cells of a recurrent module are called one by one"),
    )
    other = f"{calls} operators do little: calling them is what costs"
    return next((title for holds, title in known if holds), other)


def _slow(own: list[Seen[SelfTime]], called: dict[str, int]) -> float:
    """Return how many times as long as usual a call takes on this machine, by what views take."""
    rows = [row.record for row in own if row.record.name in VIEWS]
    count = sum(called.get(row.name, 0) for row in rows)
    if count < MIN_VIEWS:
        return 1.0
    return min(MAX_SLOW, max(1.0, sum(row.ms for row in rows) / (VIEW_MS * count)))


#: Products of one row each: how many there are at least, up to which size of what they are
#: multiplied with (models that make one token at a time have larger ones), and their part of all.
MIN_ROWS = 200
MAX_WEIGHTS = 1 << 16
_ONE_ROW = re.compile(r"1x(\d+) by \d+x(\d+)")


def of_one_row(works: Iterable[KernelWork]) -> int:
    """Return how many small products of one row run on the CPU, where nearly all are such."""
    rows = [work for work in works if work.on_host and work.kind == "product"]
    sides = [(work.count, _ONE_ROW.fullmatch(work.shape)) for work in rows]
    count = sum(n for n, one in sides if one and int(one[1]) * int(one[2]) <= MAX_WEIGHTS)
    return count if count >= max(MIN_ROWS, MOST_SINGLES * sum(n for n, _ in sides)) else 0


def _calling(whole: Window, calls: float, large: float, inside: float) -> bool:
    """Tell whether most of the time is calling operators, where each has a little more of it."""
    outside = max(0.0, whole.ms - inside)
    return (
        whole.ms - whole.added_ms <= SOME_PER_CALL_MS * calls
        and large < MAX_SOME_LARGE * whole.ms
        and outside + ENTERING_MS * calls >= MIN_CALLING * whole.ms
    )


#: Passes of a step from which on they are one for each sample, or for each result.
MIN_PASSES = 16
_ROOT = "aten::ones_like"


def backward_passes(called: dict[str, int], evaluated: Iterable[int], steps: int) -> int:
    """Return how many backward passes run in each step, where they are many; else 0.

    Each begins with a one for the loss, and evaluates its first node once: ``evaluated`` is how
    often nodes are. Without steps, of a trace or an optimizer, what belongs together is not known.
    """
    passes = called.get(_ROOT, 0)
    each = passes // steps if steps else 0
    counts = {*evaluated}
    alike = passes in counts or passes - steps in counts  # the step may have one of its own besides
    return each if each >= MIN_PASSES and alike else 0


#: Selections from which on, and among how many others, they are what a loop does.
MIN_SELECTED = 500
MAX_TO_SELECT = 10
#: Products and convolutions of one sample in each step, and their part of all.
MIN_SINGLES = 16
MOST_SINGLES = 0.8
_SELECT = frozenset({"aten::select", "aten::unbind"})


def selected(called: dict[str, int]) -> int:
    """Return how many rows or elements are selected, where a loop does hardly anything else."""
    count = sum(called.get(name, 0) for name in _SELECT)
    much = MAX_TO_SELECT * count >= sum(called.values())
    return count if count >= MIN_SELECTED and much else 0


def singles(works: Iterable[KernelWork], steps: int) -> int:
    """Return how many convolutions of a step are of one image, where nearly all are, or 0.

    Products are left out: of one token, and of a recurrent step, they have one row, too.
    """
    rows = [work for work in works if work.on_host and work.kind == "convolution"]
    single = [work for work in rows if work.shape.startswith("1x")]
    count = sum(work.count for work in single) // max(1, steps)
    most = max((work.count for work in single), default=0) // max(1, steps)
    nearly = sum(work.count for work in single) >= MOST_SINGLES * sum(w.count for w in rows)
    return count if most >= MIN_SINGLES and nearly else 0
