"""Kernels that run one after the other and could be one: what fusing them would save at most.

A sequence is as long as kernels follow each other, on one stream, that work on each element or on
rows of them; a product or a convolution may come first, since what follows can be its epilogue.
What waited for a collective that began after the first of them begins another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tracelens.logs.chrome_trace import DeviceKernel, InductorKernel
from tracelens.traces.activity import Activities, in_order
from tracelens.traces.chains import is_collective
from tracelens.traces.kernel_names import kind_of, short_name
from tracelens.traces.measured import Measured
from tracelens.traces.names import Name

__all__ = ["KernelSequence", "sequences"]

#: Kernels of one sequence; what is longer is cut.
MAX_LENGTH = 12
#: Different sequences that are counted, and that are listed.
MAX_SEQUENCES = 20_000
MAX_LISTED = 50
#: Runs from which on a sequence is frequent.
MIN_COUNT = 2
#: A pause between two kernels that is longer is not the price of launching them. Microseconds.
MAX_PAUSE_US = 50.0
_FUSED = frozenset({"elementwise", "reduction", "normalization", "softmax", "copy", "random"})
_ROWS = frozenset({"normalization", "softmax", "reduction"})
_FIRST = frozenset({"gemm", "convolution"})


class KernelSequence(Measured):
    """All runs of one sequence of kernels. Milliseconds."""

    #: Shortened names, in order.
    kernels: tuple[str, ...]
    n: int
    sum_ms: float
    #: Pauses between its kernels, those of up to 50 us.
    between_ms: float
    #: What all its kernels but the longest take, and the pauses: fusing saves that at most.
    saves_ms: float
    #: Without the product or convolution that comes first: what the others take but their longest.
    rest_ms: float = 0.0
    #: Whether a product or a convolution comes first, and rows are worked on behind it.
    behind: bool = False


@dataclass(slots=True)
class _Open:
    """The sequence that a stream is in. Microseconds."""

    names: list[int] = field(default_factory=list)
    us: float = 0.0
    longest: float = 0.0
    #: Of what follows a product, or of all where none comes first: in all, and the longest.
    rest: float = 0.0
    rest_longest: float = 0.0
    pauses: float = 0.0
    end: float = 0.0
    #: When the first of them ended, and when the last collective did that began after that.
    made: float = 0.0
    sent: float = 0.0


@dataclass(slots=True)
class _Sum:
    n: int = 0
    us: float = 0.0
    pauses: float = 0.0
    saves: float = 0.0
    rest: float = 0.0


def sequences(activities: Activities) -> Iterator[tuple[Name, KernelSequence]]:
    """Yield the frequent sequences, those that fusing would save most of first."""
    kinds = [_kind(name) for name in activities.name_table.items]
    sums: dict[tuple[int, ...], _Sum] = {}
    streams: dict[int, _Open] = {}
    keys = activities.stream_table.items
    for at in in_order(activities.starts):
        if kinds[activities.names[at]] == "collective":
            start, device = activities.starts[at], keys[activities.streams[at]][0]
            for number, other in streams.items():
                if keys[number][0] == device and other.names and other.made <= start:
                    other.sent = max(other.sent, start + activities.us[at])
        held = streams.setdefault(activities.streams[at], _Open())
        name, start, us = activities.names[at], activities.starts[at], activities.us[at]
        kind = kinds[name]
        waited = held.end < held.sent <= start
        if kind != "fused" or len(held.names) >= MAX_LENGTH or not held.names or waited:
            _close(held, sums)
        if kind in {"other", "collective"}:
            continue
        if not held.names:
            held.made, held.sent = start + us, 0.0
        held.pauses += min(MAX_PAUSE_US, max(0.0, start - held.end)) if held.names else 0.0
        held.names.append(name)
        held.us += us
        held.longest = max(held.longest, us)
        if kind == "fused":
            held.rest += us
            held.rest_longest = max(held.rest_longest, us)
        held.end = start + us
    for held in streams.values():
        _close(held, sums)
    found = [(names, each) for names, each in sums.items() if each.n >= MIN_COUNT]
    names = activities.name_table.items
    for numbers, each in sorted(found, key=lambda pair: (-pair[1].saves, pair[0]))[:MAX_LISTED]:
        row = KernelSequence(
            kernels=tuple(_short(names[number]) for number in numbers),
            n=each.n,
            sum_ms=_ms(each.us),
            between_ms=_ms(each.pauses),
            saves_ms=_ms(each.saves),
            rest_ms=_ms(each.rest),
            behind=kinds[numbers[0]] == "first" and any(_on_rows(names[at]) for at in numbers[1:]),
        )
        yield names[numbers[0]], row


def _close(held: _Open, sums: dict[tuple[int, ...], _Sum]) -> None:
    """Count the sequence that ends, and begin another one."""
    if len(held.names) > 1:
        key = tuple(held.names)
        if key in sums or len(sums) < MAX_SEQUENCES:
            each = sums.setdefault(key, _Sum())
            each.n += 1
            each.us += held.us
            each.pauses += held.pauses
            each.saves += held.us - held.longest + held.pauses
            each.rest += held.rest - held.rest_longest
    held.names.clear()
    held.us = held.longest = held.pauses = held.rest = held.rest_longest = 0.0


def _kind(name: Name) -> str:
    record = name.record
    if not isinstance(record, DeviceKernel | InductorKernel):
        return "other"
    if is_collective(name):
        return "collective"
    kind = "gemm" if "splitk" in str(record).lower() else kind_of(record)
    return "fused" if kind in _FUSED else "first" if kind in _FIRST else "other"


def _on_rows(name: Name) -> bool:
    return isinstance(name.record, DeviceKernel) and kind_of(name.record) in _ROWS


def _short(name: Name) -> str:
    record = name.record
    return short_name(record) if isinstance(record, DeviceKernel | InductorKernel) else name.text


def _ms(us: float) -> float:
    """Return milliseconds, in whole nanoseconds."""
    return round(us / 1000, 6)
