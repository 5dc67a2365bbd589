"""Operators of the CPU that follow each other: elementwise ones, and attention in three parts.

Only operators whose work is known by name are looked at. What runs between two of them shows in the
time between: they follow each other where that is short.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from tracelens.late import late
from tracelens.logs._trace_events import Complete
from tracelens.traces.activity import ThreadId
from tracelens.traces.measured import Chain
from tracelens.traces.names import Name
from tracelens.traces.op_work import STREAMING
from tracelens.traces.rows import AttentionTime
from tracelens.traces.sequences import KernelSequence

__all__ = ["COPY_BEFORE", "SUMS", "HostChains"]

#: An operator that takes less costs its call, not its memory; microseconds.
MIN_US = 20.0
#: Between two that follow each other, microseconds, and as a part of the first.
MAX_PAUSE_US = 50.0
MAX_PAUSE = 0.25
#: The same between the parts of attention, as a share of what these took so far: a mask is made.
MAX_ATTENTION_PAUSE = 0.5
MIN_LENGTH = 3
MAX_NAMES = 64
#: Distinct chains, and threads, that are told apart.
MAX_CHAINS = 1_000
MAX_THREADS = 1_024
#: Operators between the first product and the softmax: scaling, a bias, a mask that is made anew.
MAX_TO_SOFTMAX = 8
#: Operators between the softmax and the second product: a cast, dropout.
MAX_TO_PRODUCT = 4
#: Convolutions, and what works on each element or row behind them.
_CONVOLUTION = late(r"aten::_?conv(?:olution|[123]d)$|aten::mkldnn_convolution$")
_NORM = late(r"(?:native_)?(?:batch|group|layer)_norm$")
#: A sequence of its own: data is copied, and a convolution reads it.
COPY_BEFORE = ("copy_", "convolution")
MAX_BEHIND = 4
MAX_FOLLOWING = 200
_ROWS = late(r"norm|softmax|sum|mean|cat|copy|fill")
#: What a chain may end with: it takes in the elements that were computed.
SUMS = frozenset({"sum", "mean"})
_PRODUCTS = frozenset({"aten::bmm", "aten::baddbmm"})
_SOFTMAX = "aten::_softmax"


@dataclass(slots=True)
class _Thread:
    """The operators of one thread that have followed each other so far."""

    end: float = 0.0
    names: list[str] = field(default_factory=list)
    #: Microseconds of the chain, its first operator, and what the last of all took.
    us: float = 0.0
    first: Name | None = None
    last_us: float = 0.0
    #: The steps of attention so far: microseconds, of softmax, operators since the last step.
    stage: int = 0
    attention_us: float = 0.0
    softmax_us: float = 0.0
    between: int = 0
    #: The convolution and what follows it so far: names, and microseconds of each.
    behind: list[tuple[str, float]] = field(default_factory=list)
    conv: Name | None = None
    #: What the last operator took, if it was a copy, microseconds.
    copied: float = 0.0


class HostChains:
    """The sequences of one trace."""

    def __init__(self) -> None:
        self._threads: dict[ThreadId, _Thread] = {}
        self._chains: dict[tuple[str, ...], list[float]] = {}
        self._first: dict[tuple[str, ...], Name] = {}
        self._attention = [0.0, 0.0, 0.0]
        self._softmax: Name | None = None
        #: Names of a convolution and what follows -> how often, microseconds, those behind it, and
        #: those without the longest.
        self._following: dict[tuple[str, ...], list[float]] = {}
        self._convs: dict[tuple[str, ...], Name] = {}
        #: Copies right before convolutions: how often, microseconds of both, and of the copies.
        self._copied = [0.0, 0.0, 0.0]
        self._before: Name | None = None

    def follow(self, operators: Iterable[tuple[Complete, Name]]) -> None:
        """Take in the next operators, in order of time on each thread."""
        pid = tid = object()  # of none
        thread: _Thread | None = None
        for event, name in operators:
            if event.tid != tid or event.pid != pid:
                pid, tid = event.pid, event.tid
                thread = self._threads.get((pid, tid))
                if thread is None and len(self._threads) < MAX_THREADS:
                    thread = self._threads[pid, tid] = _Thread()
            if thread is not None and event.ts >= thread.end:  # else inside of another one
                self._next(thread, event, name)

    def chains(self) -> Iterator[tuple[Name, Chain]]:
        """Yield the elementwise sequences, with the operator that begins them."""
        for thread in self._threads.values():
            self._close(thread)
        for names, (count, us) in self._chains.items():
            short = tuple(name.removeprefix("aten::") for name in names)
            yield self._first[names], Chain(kernels=short, count=int(count), ms=round(us / 1e3, 6))

    def attention(self) -> Iterator[tuple[Name, AttentionTime]]:
        """Yield what attention in parts took, if there was any, with its softmax."""
        n, us, softmax = self._attention
        if n and self._softmax is not None:
            taken = AttentionTime(
                n=int(n),
                ms=round(us / 1e3, 6),
                softmax_ms=round(softmax / 1e3, 6),
                on_host=True,
            )
            yield self._softmax, taken

    def following(self) -> Iterator[tuple[Name, KernelSequence]]:
        """Yield normalization and activation behind convolutions, with the convolution."""
        for thread in self._threads.values():
            self._end(thread)
        if self._before is not None:
            n, us, copies = self._copied
            yield (
                self._before,
                KernelSequence(
                    kernels=COPY_BEFORE,
                    n=int(n),
                    sum_ms=round(us / 1e3, 6),
                    between_ms=0.0,
                    saves_ms=round(copies / 1e3, 6),
                ),
            )
        for names, (n, us, behind, rest) in self._following.items():
            yield (
                self._convs[names],
                KernelSequence(
                    kernels=tuple(name.removeprefix("aten::") for name in names),
                    n=int(n),
                    sum_ms=round(us / 1e3, 6),
                    between_ms=0.0,
                    saves_ms=round(behind / 1e3, 6),
                    rest_ms=round(rest / 1e3, 6),
                    behind=True,
                ),
            )

    def _next(self, thread: _Thread, event: Complete, name: Name) -> None:
        start, us = event.ts, event.dur
        pause = start - thread.end
        if pause > MAX_PAUSE_US:
            if pause > MAX_PAUSE * thread.last_us:
                self._close(thread)
                self._end(thread)
                thread.copied = 0.0
            if pause > MAX_ATTENTION_PAUSE * thread.attention_us:
                thread.stage = 0
        thread.end, thread.last_us = start + us, us
        traits = _traits(event.name)
        thread.between += 1
        if traits.attends:
            self._attend(thread, event, name)
        thread.attention_us += us
        if traits.convolves or thread.behind:
            self._stand_behind(thread, event, name, traits)
        thread.copied = us if traits.copies else 0.0
        sums = traits.sums and bool(thread.names)  # over what the chain has computed
        if us < MIN_US or not (traits.elementwise or sums):
            self._close(thread)
            return
        if not thread.names:
            thread.first, thread.us = name, 0.0
        thread.us += us
        if len(thread.names) < MAX_NAMES:
            thread.names.append(event.name)
        if sums:
            self._close(thread)

    def _close(self, thread: _Thread) -> None:
        """Keep the sequence, if it is one: the same operator over and over is of many tensors."""
        if not thread.names:
            return
        names = tuple(thread.names)
        thread.names.clear()
        if len(names) < MIN_LENGTH or len(set(names)) == 1 or thread.first is None:
            return
        times = _times(names)
        names = names[: len(names) // times]
        if names not in self._chains and len(self._chains) >= MAX_CHAINS:
            return
        each = self._chains.setdefault(names, [0.0, 0.0])
        self._first.setdefault(names, thread.first)
        each[0] += times
        each[1] += thread.us

    def _stand_behind(self, thread: _Thread, event: Complete, name: Name, traits: _Traits) -> None:
        """Begin with a convolution; go on with what works on each element, or on rows."""
        if traits.convolves:
            self._end(thread)
            copied = thread.copied
            if copied >= MIN_US:
                self._before = self._before or name
                for at, more in enumerate((1, copied + event.dur, copied)):
                    self._copied[at] += more
            thread.behind.append((event.name, event.dur))
            thread.conv = name
        elif traits.follows and len(thread.behind) <= MAX_BEHIND:
            thread.behind.append((event.name, event.dur))
        else:
            self._end(thread)

    def _end(self, thread: _Thread) -> None:
        """Keep what stood behind a convolution, if a normalization and more are among it."""
        names, times = tuple(name for name, _ in thread.behind), [us for _, us in thread.behind]
        thread.behind.clear()
        if len(names) < MIN_LENGTH or not any(_NORM.search(name) for name in names):
            return
        if thread.conv is None or not (
            names in self._following or len(self._following) < MAX_FOLLOWING
        ):
            return
        each = self._following.setdefault(names, [0.0] * 4)
        self._convs.setdefault(names, thread.conv)
        behind = sum(times[1:])
        for at, more in enumerate((1, sum(times), behind, behind - max(times[1:]))):
            each[at] += more

    def _attend(self, thread: _Thread, event: Complete, name: Name) -> None:
        """Go one step on: product, softmax, product."""
        if event.name in _PRODUCTS:
            if thread.stage == 2 and thread.between <= MAX_TO_PRODUCT:
                us = thread.attention_us + event.dur
                for at, more in enumerate((1, us, thread.softmax_us)):
                    self._attention[at] += more
            thread.stage, thread.between, thread.attention_us = 1, 0, 0.0
        elif thread.stage == 1 and thread.between <= MAX_TO_SOFTMAX:
            thread.stage, thread.between, thread.softmax_us = 2, 0, event.dur
            self._softmax = self._softmax or name
        else:
            thread.stage = 0


class _Traits(NamedTuple):
    """What matters of an operator here."""

    #: A part of attention, a convolution, a copy, and what may stand behind a convolution.
    attends: bool
    convolves: bool
    copies: bool
    follows: bool
    #: It works on each element; it takes in what a chain has computed.
    elementwise: bool
    sums: bool


@lru_cache(4096)
def _traits(name: str) -> _Traits:
    op = name.removeprefix("aten::")
    elementwise = STREAMING.fullmatch(op) is not None and not _ROWS.search(op)
    return _Traits(
        attends=name == _SOFTMAX or name in _PRODUCTS,
        convolves=_CONVOLUTION.match(name) is not None,
        copies=op == "copy_",
        follows=elementwise or _NORM.search(op) is not None,
        elementwise=elementwise,
        sums=op in SUMS,
    )


def _times(names: tuple[str, ...]) -> int:
    """Return how often a sequence repeats itself: steps can follow each other without a pause."""
    lengths = range(MIN_LENGTH, len(names) // 2 + 1)
    fits = (
        len(names) // length
        for length in lengths
        if len(names) % length == 0 and names == names[:length] * (len(names) // length)
    )
    return next(fits, 1)
