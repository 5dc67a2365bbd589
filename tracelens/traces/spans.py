"""Spans of the host that kernels are told by: modules, compiled regions, annotations.

A kernel belongs to the spans that its launch is in. Launches and spans are columns, matched when
all have been read: by thread and time, walking through each thread once.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

from tracelens.logs import Record
from tracelens.logs._trace_events import Complete
from tracelens.logs.chrome_trace import (
    Annotation,
    BackwardNode,
    CompiledRegion,
    DataLoading,
    DispatchStage,
    ModuleCall,
    Operator,
    OptimizerCall,
    PythonFunction,
)
from tracelens.traces.activity import Activities, Calling, Table, ThreadId, in_order
from tracelens.traces.device import Interval
from tracelens.traces.names import Name

__all__ = ["FORMS", "VALIDATES", "Kind", "Owned", "Spans", "Timed", "Tree", "kind_of"]

#: Spans that are kept, of all kinds together.
MAX_SPANS = 1 << 17
LOOKUP = "TorchDynamo Cache Lookup"
#: The node of a checkpointed part of a model, and where the other kind of checkpoint does the same.
CHECKPOINTED = "CheckpointFunctionBackward"
RECOMPUTING = "recompute_fn"
#: Operators whose kernels do not tell them by name: others sort, add and convolve with the same.
FORMS = frozenset(
    {
        *("aten::_coalesce", "aten::_unique2", "aten::unique_dim", "aten::unique_consecutive"),
        *("aten::sort", "aten::topk", "aten::_index_put_impl_", "aten::embedding_dense_backward"),
        *("aten::_embedding_bag_dense_backward", "aten::_conv_depthwise2d"),
        "aten::conv_depthwise3d",
        *("aten::linalg_inv_ex", "aten::_linalg_svd", "aten::im2col", "aten::col2im"),
        *("aten::slow_conv_dilated2d", "aten::slow_conv_dilated3d", "aten::slow_conv_transpose2d"),
        *("aten::slow_conv_transpose3d", "aten::_slow_conv2d_forward", "aten::slow_conv3d_forward"),
    }
)
#: Functions that compute a model to see how good it is.
VALIDATES = re.compile(
    r"_?(?:run_|do_)?(?:validat(?:e|ion)|evaluat(?:e|ion))(?:_(?:step|loop|epoch|model|one_epoch))?\Z"
    r"|_?(?:run_)?eval_(?:step|loop|epoch|model|one_epoch)\Z"
)


class Kind(IntEnum):
    """What a span is."""

    MODULE = 0
    REGION = 1
    LOOKUP = 2
    ANNOTATION = 3
    BACKWARD = 4
    #: What checkpointing computes again; the second with the backward pass that follows it.
    RECOMPUTED = 5
    CHECKPOINT = 6
    #: One of ``FORMS``.
    FORM = 7
    #: A function that validates.
    VALIDATES = 8
    #: A function of the program, and any operator: what kernels are told by where they are kept.
    LINE = 9
    OPERATOR = 10


class Timed(Protocol):
    """Columns of what begins on the host."""

    starts: array[float]
    threads: array[int]
    thread_table: Table[ThreadId]


class Owned(NamedTuple):
    """What the launches in one span, but in none inside it, brought the device. Microseconds."""

    us: float
    kernels: int


def kind_of(record: Record) -> Kind | None:
    """Return what spans of a name are kept as; None for those that are not."""
    if isinstance(record, ModuleCall | CompiledRegion):
        return Kind.MODULE if isinstance(record, ModuleCall) else Kind.REGION
    if isinstance(record, DispatchStage) and record.stage == LOOKUP:
        return Kind.LOOKUP
    if isinstance(record, BackwardNode | PythonFunction):
        return _backward(record)
    if isinstance(record, Operator) and str(record) in FORMS:
        return Kind.FORM
    if isinstance(record, Annotation | OptimizerCall | DataLoading):
        return Kind.ANNOTATION if record.category == "user_annotation" else None
    return None


def _backward(record: BackwardNode | PythonFunction) -> Kind | None:
    """Return what is a compiled backward pass, or computes again what was computed before."""
    if isinstance(record, PythonFunction):
        if VALIDATES.match(record.function):
            return Kind.VALIDATES
        known = record.function == RECOMPUTING and record.file.endswith("checkpoint.py")
        return Kind.RECOMPUTED if known else None
    kind = Kind.BACKWARD if record.is_compiled else None
    kind = Kind.CHECKPOINT if record.node == CHECKPOINTED else kind
    return None if record.evaluated else kind


class Spans:
    """The spans of one trace, as columns: thirty bytes each."""

    def __init__(self) -> None:
        self.starts, self.ends = array("d"), array("d")
        self.names, self.threads, self.kinds = array("i"), array("i"), array("b")
        self.name_table: Table[Name] = Table()
        self.thread_table: Table[ThreadId] = Table()
        self.full = False
        #: When nodes of the autograd graph were evaluated.
        self.evaluated = array("d")

    def add(self, kind: Kind, name: Name, event: Complete) -> None:
        """Add one."""
        if len(self.starts) >= MAX_SPANS:
            self.full = True
            return
        self.starts.append(event.ts)
        self.ends.append(event.ts + event.dur)
        self.names.append(self.name_table.number(name))
        self.threads.append(self.thread_table.number((event.pid, event.tid)))
        self.kinds.append(kind)

    def add_all(self, kind: Kind, found: list[tuple[Complete, Name]]) -> int:
        """Add those that there is room for, and return how many these are."""
        room = max(0, MAX_SPANS - len(self.starts))
        if len(found) > room:
            self.full = True
            found = found[:room]
        self.starts.extend([event.ts for event, _ in found])
        self.ends.extend([event.ts + event.dur for event, _ in found])
        self.names.extend(self.name_table.all([name for _, name in found]))
        threads = [(event.pid, event.tid) for event, _ in found]
        self.threads.extend(self.thread_table.all(threads))
        self.kinds.extend([kind] * len(found))
        return len(found)

    def of(self, kinds: Collection[Kind]) -> Tree | None:
        """Return the spans of some kinds; None for none."""
        numbers = [at for at, kind in enumerate(self.kinds) if kind in kinds]
        return Tree(self, numbers) if numbers else None

    def intervals(self, kind: Kind) -> dict[Name, list[Interval]]:
        """Return when spans of a kind were, by name, each in the order of the file."""
        found: defaultdict[Name, list[Interval]] = defaultdict(list)
        for at, of_it in enumerate(self.kinds):
            if of_it == kind:
                found[self.name_table.items[self.names[at]]].append(
                    (self.starts[at], self.ends[at])
                )
        return dict(found)


class Tree:
    """Spans of some kinds, each with the one around it on its thread."""

    def __init__(self, spans: Spans, numbers: Iterable[int]) -> None:
        starts, ends = spans.starts, spans.ends
        self.spans = spans
        #: In the order of threads and time, each after the one around it.
        self.order = sorted(numbers, key=lambda at: (spans.threads[at], starts[at], -ends[at]))
        #: Position in ``order`` of the one around it; -1 for none.
        self.above = array("i")
        self._threads: dict[int, tuple[int, int]] = {}
        stack: list[int] = []
        last = -1
        for position, at in enumerate(self.order):
            thread = spans.threads[at]
            if thread != last:
                stack, last = [], thread
                self._threads[thread] = position, position
            self._threads[thread] = self._threads[thread][0], position + 1
            while stack and ends[self.order[stack[-1]]] <= starts[at]:
                stack.pop()
            self.above.append(stack[-1] if stack else -1)
            stack.append(position)

    def launched(self, calls: Calling, activities: Activities) -> list[Owned]:
        """Return what each span's own launches brought the device, in the order of ``order``."""
        owners = self.owners(calls)
        us, count = array("d", bytes(8 * len(self.order))), array("i", bytes(4 * len(self.order)))
        order = in_order(calls.correlations)
        keys = array("q", map(calls.correlations.__getitem__, order))
        for key, length in zip(activities.correlations, activities.us, strict=True):
            at = bisect_left(keys, key) if key > 0 else len(keys)
            if at < len(keys) and keys[at] == key and (owner := owners[order[at]]) >= 0:
                us[owner] += length
                count[owner] += 1
        return list(map(Owned, us, count))

    def inclusive(self, owned: Sequence[Owned]) -> list[Owned]:
        """Return the same with what the spans inside brought."""
        us, count = [each.us for each in owned], [each.kernels for each in owned]
        for position in range(len(self.order) - 1, -1, -1):
            if (above := self.above[position]) >= 0:
                us[above] += us[position]
                count[above] += count[position]
        return list(map(Owned, us, count))

    def owners(self, calls: Timed) -> array[int]:
        """Return the position of the innermost span that each call begins in; -1 for none."""
        owners = array("i", [-1]) * len(calls.starts)
        threads = {thread: number for number, thread in enumerate(self.spans.thread_table.items)}
        mine = [threads.get(thread, -1) for thread in calls.thread_table.items]
        by_thread: defaultdict[int, list[int]] = defaultdict(list)
        for at, thread in enumerate(calls.threads):
            by_thread[mine[thread]].append(at)
        for thread, (first, last) in self._threads.items():
            ats = sorted(by_thread.get(thread, ()), key=calls.starts.__getitem__)
            for at, position in self._walk(first, last, ((calls.starts[at], at) for at in ats)):
                owners[at] = position
        return owners

    def _walk(
        self, first: int, last: int, moments: Iterable[tuple[float, int]]
    ) -> Iterator[tuple[int, int]]:
        """Yield what is open at each moment, for the spans from ``first`` up to ``last``."""
        starts, ends = self.spans.starts, self.spans.ends
        stack: list[int] = []
        after = first
        for moment, at in moments:
            while after < last and starts[self.order[after]] <= moment:
                while stack and ends[self.order[stack[-1]]] <= starts[self.order[after]]:
                    stack.pop()
                stack.append(after)
                after += 1
            while stack and ends[self.order[stack[-1]]] <= moment:
                stack.pop()
            yield at, stack[-1] if stack else -1
