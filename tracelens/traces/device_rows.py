"""Rows about kernels, copies and waits: what ran, how often and how long."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from statistics import median
from typing import TYPE_CHECKING

from tracelens.late import late
from tracelens.logs.chrome_trace import (
    DeviceKernel,
    InductorKernel,
    MemoryCopy,
    MemorySet,
    Operator,
)
from tracelens.traces.activity import Activities, in_order
from tracelens.traces.device import Busy
from tracelens.traces.host import Around, Stretch
from tracelens.traces.kernel_names import dtype_of, is_tensor_core, kind_of, short_name, source_of
from tracelens.traces.names import Name
from tracelens.traces.own_frames import mine
from tracelens.traces.rows import AttentionTime, CopyTime, KernelTime, SyncTime
from tracelens.traces.spans import Kind

if TYPE_CHECKING:
    from tracelens.traces.reading import Reading

__all__ = ["copies", "kernels", "syncs", "unfused_attention", "with_log"]

#: Kernels that are listed, and places that wait.
MAX_KERNELS = 1_000
MAX_SYNCS = 100
#: Waits whose place is looked for, the longest.
MAX_PLACED = 20_000


def kernels(activities: Activities) -> Iterator[tuple[Name, KernelTime]]:
    """Yield each kernel, what took longest first, with its name."""
    times: list[array[float]] = [array("d") for _ in activities.name_table.items]
    for number, us in zip(activities.names, activities.us, strict=True):
        times[number].append(us)
    rows = [
        _kernel(name.record, us)
        for name, us in zip(activities.name_table.items, times, strict=True)
        if isinstance(name.record, DeviceKernel | InductorKernel) and us
    ]
    whole = sum(row.sum_ms for row in rows if row.kind != "collective")
    named = {str(name.record): name for name in activities.name_table.items}
    for row in sorted(rows, key=lambda row: (-row.sum_ms, row.full_name))[:MAX_KERNELS]:
        share = None if row.kind == "collective" or not whole else round(row.sum_ms / whole, 6)
        yield named[row.full_name], row.model_copy(update={"share": share})


def _kernel(record: DeviceKernel | InductorKernel, us: array[float]) -> KernelTime:
    return KernelTime(
        name=short_name(record),
        full_name=str(record),
        kind=kind_of(record),
        source=source_of(record),
        n=len(us),
        sum_ms=_ms(math.fsum(us)),
        median_ms=_ms(median(us)),
        min_ms=_ms(min(us)),
        max_ms=_ms(max(us)),
        share=None,
        dtype=dtype_of(record),
        tensor_core=is_tensor_core(record),
    )


def copies(names: Iterator[Name]) -> Iterator[tuple[Name, CopyTime]]:
    """Yield copies and fills by kind."""
    for name in names:
        record = name.record
        if not isinstance(record, MemoryCopy | MemorySet) or not name.times.n:
            continue
        ms = name.times.total
        moved = name.moved or None
        copy = isinstance(record, MemoryCopy)
        ends = {record.source, record.target} if isinstance(record, MemoryCopy) else set()
        host = "Pinned" in ends or "Pageable" in ends
        yield (
            name,
            CopyTime(
                name=str(record),
                direction=record.direction if isinstance(record, MemoryCopy) else "",
                bytes=moved,
                n=name.count,
                sum_ms=round(ms, 6),
                gbs=round(moved / ms / 1e6, 3) if moved and ms else None,
                pinned="Pinned" in ends if copy and host else None,
            ),
        )


def syncs(reading: Reading, busy: Busy) -> Iterator[SyncTime]:
    """Yield what waits for the device, by call and place, the longest first."""
    calls = reading.runtime.syncs
    order = sorted(range(len(calls.starts)), key=lambda at: -calls.us[at])[:MAX_PLACED]
    stretches = []
    for at in order:
        start = calls.starts[at]
        thread = calls.thread_table.items[calls.threads[at]]
        stretches.append(Stretch(thread, start, start + calls.us[at]))
    after = _idle_after(busy, [stretch.end for stretch in stretches])
    caught = _caught_up(busy, [(stretch.start, stretch.end) for stretch in stretches])
    notes = _annotated(reading)
    sums: dict[tuple[str, str, str, str], list[float]] = {}
    under: defaultdict[tuple[str, str, str, str], dict[str, float]] = defaultdict(dict)
    told = zip(order, reading.host.around(stretches), after, caught, strict=True)
    for at, around, idle, behind in told:
        key = _place(calls.name_table.items[calls.names[at]], around)
        each = sums.setdefault(key, [0, 0.0, 0.0, 0.0])
        each[0] += 1
        each[1] += calls.us[at]
        each[2] += idle
        each[3] += behind
        under[key][notes[at]] = under[key].get(notes[at], 0.0) + calls.us[at]
    listed = sorted(sums.items(), key=lambda pair: (-pair[1][1], pair[0]))[:MAX_SYNCS]
    for (call, operator, frame, own), (count, us, idle, behind) in listed:
        yield SyncTime(
            call=call,
            operator=operator,
            frame=frame,
            user_frame=own,
            count=int(count),
            ms=_ms(us),
            idle_after_ms=_ms(idle),
            caught_up_ms=_ms(behind),
            annotation=_most(under[call, operator, frame, own], us),
        )


def _annotated(reading: Reading) -> list[str]:
    """Return the innermost annotation that each call that waits is in; empty for none."""
    tree, calls = reading.spans.of({Kind.ANNOTATION}), reading.runtime.syncs
    if tree is None:
        return [""] * len(calls.starts)
    names = [str(reading.spans.name_table.items[number].record) for number in reading.spans.names]
    return [names[tree.order[at]] if at >= 0 else "" for at in tree.owners(calls)]


def _most(under: dict[str, float], us: float) -> str:
    """Return what has at least half of some time."""
    name = max(under, key=lambda each: under[each])
    return name if 2 * under[name] >= us else ""


#: Calls that are long enough to lose what the host was ahead, microseconds.
LONG_US = 50.0
#: Kernels that may stand between a product and its softmax: scale, mask, cast, dropout.
MAX_BETWEEN = 4
_BETWEEN = frozenset({"elementwise", "copy", "random"})
#: Attention takes no logarithm of its scores: these are of a loss, or of what a policy chooses. For
#: few classes a parameter of the template says so.
_LOG = late(r"LogSoftMax|softmax_warp_forward<(?:[^<>,]{1,40},){4} ?true\b|\blog_kernel_cuda")

#: Operators for products, those of batches, and how many kernels there may be for each of them.
_BATCHED = frozenset({"bmm", "baddbmm", "baddbmm_"})
_PRODUCTS = _BATCHED | {"mm", "addmm", "addmm_", "_addmm_activation", "_scaled_mm", "mv", "addmv_"}
MOST_KERNELS = 3


class _Sequence:
    """What one stream has run of product, softmax, product."""

    __slots__ = ("between", "softmax", "stage", "us")

    def __init__(self) -> None:
        self.stage = self.between = 0
        self.us = self.softmax = 0.0

    def take(self, kind: str, us: float) -> tuple[float, float] | None:
        """Take in the next kernel; return the times of all, and of softmax, at the end of one."""
        if kind == "gemm":
            ended = (self.us + us, self.softmax) if self.stage == _AFTER_SOFTMAX else None
            self.stage, self.between, self.us, self.softmax = 1, 0, us, 0.0
            return ended
        if kind == "softmax" and self.stage == 1:
            self.stage, self.between, self.softmax = _AFTER_SOFTMAX, 0, us
            self.us += us
        elif kind in _BETWEEN and self.stage and self.between < MAX_BETWEEN:
            self.between += 1
            self.us += us
        else:
            self.stage = 0
        return None


_AFTER_SOFTMAX = 2


def unfused_attention(activities: Activities, names: Iterable[Name]) -> Iterator[AttentionTime]:
    """Yield how often attention runs in parts, if it does; ``names`` are those of the trace."""
    kinds = [
        _part_of(name.record) if isinstance(name.record, DeviceKernel | InductorKernel) else "copy"
        for name in activities.name_table.items
    ]
    if "softmax" not in kinds:
        return
    streams: dict[int, _Sequence] = {}
    found: list[tuple[float, float]] = []
    for at in in_order(activities.starts):
        sequence = streams.setdefault(activities.streams[at], _Sequence())
        ended = sequence.take(kinds[activities.names[at]], activities.us[at])
        if ended is not None:
            found.append(ended)
    products = sum(kinds[name] == "gemm" for name in activities.names)
    if n := min(len(found), _batched(names, products) // 2):
        us, softmax = (math.fsum(part) * n / len(found) for part in zip(*found, strict=True))
        yield AttentionTime(n=n, ms=_ms(us), softmax_ms=_ms(softmax))


def _batched(names: Iterable[Name], products: int) -> int:
    """Return how many of the products can be of batches, as scores are, and what they weigh."""
    counts = {
        name.record.op: name.count
        for name in names
        if isinstance(name.record, Operator) and name.record.op in _PRODUCTS
    }
    if sum(counts.values()) * MOST_KERNELS < products:
        return products  # graphs and libraries launch without these operators
    return sum(count for op, count in counts.items() if op in _BATCHED)


def with_log(kernel: str) -> bool:
    """Tell whether a kernel takes a logarithm, as a loss does, and attention does not."""
    return _LOG.search(kernel) is not None


def _part_of(kernel: DeviceKernel | InductorKernel) -> str:
    return "" if isinstance(kernel, DeviceKernel) and with_log(kernel.name) else kind_of(kernel)


def _place(call: str, around: Around) -> tuple[str, str, str, str]:
    return call, around.operator, around.frame, mine(around.frames)


def _idle_after(busy: Busy, moments: Sequence[float]) -> list[float]:
    """Return how long nothing runs after each moment; up to the next of them, where one is near."""
    found = [0.0] * len(moments)
    following = float("inf")
    for at in sorted(range(len(moments)), key=lambda at: -moments[at]):
        moment = moments[at]
        next_ = bisect_right(busy.starts, moment)
        if 0 < next_ < len(busy.starts) and busy.ends[next_ - 1] <= moment:
            found[at] = min(busy.starts[next_], following) - moment
        following = moment
    return found


def _caught_up(busy: Busy, calls: Sequence[tuple[float, float]]) -> list[float]:
    """Return how long nothing runs soon after each long call: while the host catches up."""
    found = [0.0] * len(calls)
    long = [at for at, (start, end) in enumerate(calls) if end - start >= LONG_US]
    long.sort(key=lambda at: calls[at])
    last = busy.ends[-1] if busy.ends else 0.0
    spans = []
    for at, following in zip_longest(long, long[1:]):
        start, end = calls[at]
        until = last if following is None else min(last, calls[following][0])
        spans.append((end, max(end, min(end + 2 * (end - start), until)), at))
    spans.sort()
    covered = busy.within((begin, stop) for begin, stop, _ in spans)
    for (begin, stop, at), us in zip(spans, covered, strict=True):
        found[at] = min(calls[at][1] - calls[at][0], stop - begin - us)
    return found


def _ms(us: float) -> float:
    """Return milliseconds, in whole nanoseconds."""
    return round(us / 1000, 6)
