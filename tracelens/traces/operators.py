"""Follow what runs inside what, thread by thread, while the events pass by.

Kineto writes the operators of a thread in the order of their beginnings, each before those inside
it: a stack of what is open is all that it takes. Where they come in another order, nothing is said.
"""

from __future__ import annotations

from enum import IntFlag

from tracelens.late import late
from tracelens.logs import Record
from tracelens.logs._trace_events import Complete, Id
from tracelens.logs.chrome_trace import (
    Annotation,
    BackwardNode,
    ChromeTrace,
    CompiledGraph,
    CompiledRegion,
    CompilePhase,
    DataLoading,
    DispatchStage,
    InductorKernel,
    Operator,
    OptimizerCall,
    ProfilerStep,
)
from tracelens.traces.device import Busy, Intervals
from tracelens.traces.host_kinds import REMOTE, host_kind
from tracelens.traces.names import LISTS, Name
from tracelens.traces.tally import MAX_FRAMES, Tally

__all__ = ["Lane", "Operators", "Part", "part_of", "takes_lists"]

#: Steps that are told apart.
MAX_STEPS = 5_000
#: Threads that are told apart.
MAX_LANES = 4_096


class Part(IntFlag):
    """What a span counts as. Of spans inside each other that count as the same, the outermost."""

    NOTHING = 0
    OPERATOR = 1
    COMPILED = 2
    DISPATCH = 4
    COMPILE = 8
    LOADING = 16
    OPTIMIZER = 32
    STEP = 64
    REGION = 128
    EAGER = 256
    #: The note on whose compilation it was.
    COMPILE_ID = 512
    #: A node of the backward pass that is C++, and what only a forward pass calls.
    NODE = 1024
    FORWARD = 2048
    #: Code that was compiled, and nothing of the Python around it.
    GRAPH = 4096


#: Plain numbers: arithmetic on flags is slow.
_EAGER, _REGION, _STEP, _OPERATOR = (
    int(part) for part in (Part.EAGER, Part.REGION, Part.STEP, Part.OPERATOR)
)
_COMPILE, _LOADING, _OPTIMIZER, _COMPILED = (
    int(part) for part in (Part.COMPILE, Part.LOADING, Part.OPTIMIZER, Part.COMPILED)
)
_NODE, _FORWARD, _GRAPH = int(Part.NODE), int(Part.FORWARD), int(Part.GRAPH)
#: What computes, where it is seen; a region holds Python, too.
_WORK = _OPERATOR | _OPTIMIZER | _GRAPH
#: Counted wherever they are.
_CALLED = _REGION | _STEP | int(Part.COMPILE_ID)
#: A compiled frame that is called inside of these was compiled by itself.
_APART = _OPERATOR | _GRAPH | _OPTIMIZER
#: How operators begin that take lists of tensors.
_COMPILE_ID = int(Part.COMPILE_ID)
_MULTI = ("_foreach_", "_fused_", "_amp_foreach_")
#: Inside of these, an operator is not eager code of the program's own.
_NOT_EAGER = int(
    Part.OPERATOR | Part.COMPILED | Part.DISPATCH | Part.COMPILE | Part.LOADING | Part.OPTIMIZER
)
#: What an operator counts as that is nowhere inside.
_PLAIN = _OPERATOR | _EAGER
#: Nodes of autograd's own are numbered; those of Python and of libraries are not.
_OWN_NODE = late(r"\w+Backward\d+\Z")
#: Operators of modules: formulas of backward passes call what these are made of. Inside of a node
#: they are a forward pass that runs again, as checkpointing makes it.
_FORWARD_ONLY = frozenset(
    {
        "aten::linear",
        "aten::conv1d",
        "aten::conv2d",
        "aten::conv3d",
        "aten::layer_norm",
        "aten::rms_norm",
        "aten::batch_norm",
        "aten::group_norm",
        "aten::scaled_dot_product_attention",
        "aten::gelu",
        "aten::silu",
        "aten::relu",
        "aten::relu_",
        "aten::embedding",
        "aten::dropout",
    }
)
_PARTS: dict[type[Record], Part] = {
    Operator: Part.OPERATOR,
    BackwardNode: Part.OPERATOR,
    InductorKernel: Part.OPERATOR,
    CompiledRegion: Part.COMPILED | Part.REGION,
    CompiledGraph: Part.COMPILED | Part.GRAPH,
    DispatchStage: Part.DISPATCH,
    CompilePhase: Part.COMPILE,
    DataLoading: Part.LOADING,
    OptimizerCall: Part.OPTIMIZER,
    ProfilerStep: Part.STEP,
}


def part_of(record: Record) -> Part:
    """Return what spans of a name count as."""
    if isinstance(record, BackwardNode) and record.is_compiled:
        return Part.COMPILED | Part.GRAPH
    if isinstance(record, DispatchStage) and record.stage == "CompiledFunction":
        return Part.COMPILED | Part.GRAPH
    if isinstance(record, CompilePhase) and record.compile_id:
        return Part.COMPILE_ID
    if isinstance(record, CompilePhase) and record.phase.startswith("CUDAGraph"):
        return Part.NOTHING
    if isinstance(record, Annotation) and record.category in {"cpu_op", "Operator"}:
        return Part.NOTHING if host_kind(str(record)) == REMOTE else Part.OPERATOR
    return _PARTS.get(type(record), Part.NOTHING) | _direction(record)


def takes_lists(record: Record) -> bool:
    """Tell whether it is an operator that takes lists of tensors."""
    return isinstance(record, Operator) and record.op.startswith(_MULTI)


def _direction(record: Record) -> Part:
    """Return whether it can only be of a forward pass, or of a backward pass."""
    if isinstance(record, BackwardNode) and _OWN_NODE.match(record.node):
        return Part.NOTHING if record.evaluated else Part.NODE
    forward = isinstance(record, Operator) and str(record) in _FORWARD_ONLY
    return Part.FORWARD if forward else Part.NOTHING


class Lane:
    """One thread: the spans that are open, innermost last."""

    __slots__ = ("end", "first", "last", "late", "optimizer", "spans", "stack", "start", "us")

    def __init__(self, start: float, first: int) -> None:
        self.start = self.last = self.end = start
        self.first = first
        self.spans = 0
        #: Spans that begin before the one that the file has in front of them.
        self.late = 0
        #: Outermost operators, microseconds.
        self.us = 0.0
        #: The last outermost call of an optimizer.
        self.optimizer: Name | None = None
        #: End, name, parts that it and those around it count as, step.
        self.stack: list[tuple[float, Name, int, Tally | None]] = []

    @property
    def ordered(self) -> bool:
        """Whether what it says about nesting is to be believed."""
        return self.late * 100 <= self.spans


class Operators:
    """The threads of one trace and the steps on them."""

    def __init__(self) -> None:
        self.lanes: dict[tuple[Id, Id], Lane] = {}
        self.total = Tally()
        #: Steps, each with about the number of its event.
        self.steps: list[tuple[int, Tally]] = []
        #: Spans of the list in hand; who fills it clears it.
        self.waiting: list[tuple[Complete, Name]] = []
        self.compiling, self.loading, self.working = Intervals(), Intervals(), Intervals()
        #: Calls of compiled frames, and whether the trace tells their graphs from the rest of them.
        self.regions = Intervals()
        self.graphs = False
        #: What of the forward pass runs in nodes of the backward pass, in the list in hand.
        self.again: list[tuple[Name, Complete]] = []
        #: The last node of each thread.
        self._nodes: dict[tuple[Id, Id], Complete] = {}
        self._number = 0

    @property
    def ordered(self) -> bool:
        """Whether what is said about nesting is to be believed."""
        return all(lane.ordered for lane in self.lanes.values())

    @property
    def spans(self) -> int:
        """How many operators, steps and nodes there are on all threads."""
        return sum(lane.spans for lane in self.lanes.values())

    def work(self) -> Busy:
        """Return when the CPU computed.

        A call of a compiled frame counts as a whole only where the trace does not show its graphs.
        """
        return self.working.busy() if self.graphs else self.calling()

    def calling(self) -> Busy:
        """Return when the host was in operators, or in calls of compiled frames."""
        return Busy.union([self.working.busy(), self.regions.busy()])

    def follow(self, number: int) -> None:
        """Take in the spans that are waiting, which come after the ``number``-th event."""
        self._number = number
        for key, events in _by_thread(self.waiting).items():
            lane = self.lanes.get(key)
            if lane is None:
                if len(self.lanes) >= MAX_LANES:
                    continue
                lane = self.lanes[key] = Lane(events[0][0].ts, number + 1)
            self._follow(lane, events)

    def _follow(self, lane: Lane, events: list[tuple[Complete, Name]]) -> None:
        stack, last = lane.stack, lane.last
        lane.spans += len(events)
        for event, name in events:
            start, us, parts = event.ts, event.dur, name.parts
            end = start + us
            while stack and stack[-1][0] <= start:
                stack.pop()
            name.self_us += us
            around, step = 0, None
            if start < last:  # it is not inside of what is open
                lane.late += 1
                lane.start = min(lane.start, start)
            else:
                last = start
                if stack:
                    limit, outer, around, step = stack[-1]
                    if outer is name:
                        name.inner += 1
                    outer.self_us -= us if end <= limit else limit - start
            if not around and end > lane.end:
                lane.end = end
            if parts == _OPERATOR and not around & _NOT_EAGER:  # the usual one, at once
                lane.us += us
                self.total.take(_PLAIN, us)
                if step is not None:
                    step.take(_PLAIN, us)
                self.working.add(start, end)
            elif parts & ~around or parts & _CALLED:
                lane.us += us if parts & _OPERATOR & ~around else 0.0
                step = self._tally(lane, event, name, around, step)
            stack.append((end, name, around | parts, step))
        lane.last = last

    def _tally(
        self, lane: Lane, event: Complete, name: Name, around: int, step: Tally | None
    ) -> Tally | None:
        """Count the outermost span of some part, or a step or region; return the step it is in."""
        parts = name.parts
        if parts & _CALLED:
            step = self._step(event) if parts & _STEP else step
            self._call(lane, event, name, around, step)
        fresh = parts & ~around
        optimizes = False
        if fresh & _OPTIMIZER:
            lane.optimizer = name
        if fresh & _OPERATOR:
            if not around & _NOT_EAGER:
                fresh |= _EAGER
            else:
                optimizes = around & _OPTIMIZER > 0 == around & _COMPILED
        if fresh & ~_PLAIN or not around & _WORK:
            self._occupy(event, name, fresh, around)
        for tally in (self.total,) if step is None else (self.total, step):
            tally.take(fresh, event.dur)
            if optimizes:
                tally.update(lane.optimizer, event.dur, multi=name.role & LISTS > 0)
        return step

    def _call(
        self, lane: Lane, event: Complete, name: Name, around: int, step: Tally | None
    ) -> None:
        """Count a call of a compiled frame, or note whose compilation it was."""
        tallies = (self.total,) if step is None else (self.total, step)
        if name.parts & _REGION:
            frame = name.record.frame if isinstance(name.record, CompiledRegion) else ""
            nested = bool(around & _REGION) and _in_frame(lane.stack)
            apart = not nested and bool(around & _APART)
            for tally in tallies:
                tally.call(frame, nested=nested, apart=apart)
                if around & _OPTIMIZER and not around & _REGION and lane.optimizer is not None:
                    tally.update_compiled(lane.optimizer, event.dur)
        if name.parts & _COMPILE_ID and isinstance(name.record, CompilePhase):
            for tally in tallies:
                if len(tally.compiles) < MAX_FRAMES:
                    tally.compiles[name.record.compile_id] = None

    def _occupy(self, event: Complete, name: Name, fresh: int, around: int) -> None:
        """Remember when the program compiled, waited for data, or worked, in this order."""
        if fresh & _NODE:
            self._nodes[event.pid, event.tid] = event
        elif fresh & _FORWARD and around & _NODE:
            self._again(name, event)
        if fresh & _COMPILE:
            self.compiling.add(event.ts, event.ts + event.dur)
        elif around & _COMPILE:
            return
        elif fresh & _LOADING:
            self.loading.add(event.ts, event.ts + event.dur)
        elif around & _LOADING:
            return
        elif fresh & _REGION:
            self.regions.add(event.ts, event.ts + event.dur)
        elif fresh & _WORK and not around & _WORK:
            self.working.add(event.ts, event.ts + event.dur)
            self.graphs = self.graphs or bool(fresh & _GRAPH and around & _REGION)

    def _again(self, name: Name, event: Complete) -> None:
        """Remember a forward pass in a node: it comes before what the node computes itself."""
        node = self._nodes.get((event.pid, event.tid), event)
        us = event.ts + event.dur - node.ts
        whole = Complete(
            name=event.name, ts=node.ts, dur=us, cat=event.cat, pid=event.pid, tid=event.tid
        )
        self.again.append((name, whole))

    def _step(self, event: Complete) -> Tally | None:
        if len(self.steps) >= MAX_STEPS:
            return None
        text = f"{event.cat or ''}\t{event.name}"
        record = next(iter(ChromeTrace.parse(text)), None)
        step = Tally(event.ts, event.dur)
        step.number = record.number if isinstance(record, ProfilerStep) else None
        step.text = text
        self.steps.append((self._number + 1, step))
        return step


def _in_frame(stack: list[tuple[float, Name, int, Tally | None]]) -> bool:
    """Tell whether the Python of a compiled frame goes on: no operator or graph of it is open.

    What an operator calls that the graph holds, or one that Python calls, is another function; a
    class of the program's (``autograd.Function``) is Python.
    """
    for _, name, _, _ in reversed(stack):
        if name.parts & (_REGION | _GRAPH):
            return name.parts & _REGION > 0
        if name.parts & _OPERATOR and not isinstance(name.record, Annotation):
            return False
    return False


def _by_thread(
    events: list[tuple[Complete, Name]],
) -> dict[tuple[Id, Id], list[tuple[Complete, Name]]]:
    """Return what runs on each thread, in the order of the file."""
    threads: dict[tuple[Id, Id], list[tuple[Complete, Name]]]
    threads = {(event.pid, event.tid): [] for event, _ in events}
    if len(threads) == 1:
        return dict.fromkeys(threads, events)
    for pair in events:
        event = pair[0]
        threads[event.pid, event.tid].append(pair)
    return threads
