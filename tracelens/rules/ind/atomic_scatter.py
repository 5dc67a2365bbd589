"""IND009 atomic-scatter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from tracelens.dynamo import user_code
from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.epilogues import quote
from tracelens.inductor.fallbacks import SCATTERS, fallbacks
from tracelens.inductor.graphs import heaviest, is_little
from tracelens.inductor.kernel_costs import cost_of
from tracelens.inductor.origins import Lines
from tracelens.logs.output_code import OutputModule, Step
from tracelens.remedies import Remedy
from tracelens.report import Cost, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import plural

if TYPE_CHECKING:
    from tracelens.logs.graph_code import FxGraph
    from tracelens.traces.rows import KernelTime

__all__ = ["AtomicScatter"]

#: Elements per call of the graph below which nobody would notice.
MANY = 1 << 14
MAX_QUOTED = 3
#: How generated code asks for a mean, of ``scatter_reduce`` and ``index_reduce``.
_MEAN = "'mean'"
#: A call, in C++ or Triton: Triton kernels say ``'atomic_add_found': False`` of themselves, too.
_ADDS = re.compile(r"\batomic_add(?:_vec)?[<(]")
_LITTLE = "what they move is a small part of what the graph moves"
#: Of the time in which the GPU computes, from which on it is worth a change.
WORTH = 0.05
_QUICK = "the trace of the run shows that they take little of the time in which the GPU computes"
_EMBEDDING = "it is the gradient of an embedding, into which tokens that repeat are added"


class _Scatter(msgspec.Struct, frozen=True):
    """One call that adds into places which a tensor names."""

    seen: Seen[OutputModule]
    step: Step
    #: The kernel, or the operator of ATen.
    name: str
    #: ``index_add`` and the like, for finding the line.
    ops: tuple[str, ...]
    is_atomic: bool
    elements: int

    @property
    def bytes(self) -> int:
        """What it reads and writes; 0 where some size is not known."""
        flow = self.seen.record.flow
        sizes = [one.bytes for one in (*flow.operands(self.step), *flow.results(self.step))]
        return sum(size or 0 for size in sizes) if None not in sizes else 0


class AtomicScatter(Rule):
    """Values are scattered by index, with atomics or by a call of ATen.

    ## Why it matters
    Two threads may add into the same place, so each addition is an atomic operation, which is slow
    where places collide, and keeps a CPU kernel from using its vector registers fully. Where
    Inductor cannot write it at all (``scatter_reduce`` with a mean), it calls ATen, and nothing is
    fused with it. Graph networks and gradients of embeddings consist of this.

    ## What it looks like
    ``atomic_add`` in a kernel, or an ATen operator that scatters:

        [0/0] [__output_code] def call(args):
        [0/0] [__output_code]     aten.scatter_reduce_.two(buf0,0,arg0_1,buf1, reduce='mean')

    ## When it is harmless
    Below 16,384 elements per call of the graph: nothing is said. Above it is a note, since the
    index decides: sorted or without repetitions, atomics cost little. Symbolic sizes count as 1.
    The gradient of an embedding on a GPU is folded, and so are kernels that take less than 5 % of
    the time in which the GPU computes, by a trace of the same run.
    Less than 1 MiB and 2 % of what the graph moves is folded: the largest of a row of scalars per
    edge took 0.2 ms of a call of 50 ms, whose time went to the vectors of the edges.

    ## What to do
    A mean by ``scatter_reduce`` is quicker as ``index_add``, which Inductor fuses, divided by how
    often each place occurs. Where no place occurs twice, gather instead of scattering. On a GPU,
    sort an index that is known in advance and reduce by segments; on a CPU that is slower
    (``torch.segment_reduce`` took 2 to 9 times as long as the kernel with ``atomic_add``, with one
    thread). ``torch.use_deterministic_algorithms`` makes scatters slower still.

    ## How a live run confirms it
    The same step with the index sorted or the reduction by segments. Confirmed when it is faster.

    ## See also
    IND005 (kernels without vector registers), IND001 (other calls of ATen);
    <https://github.com/pytorch/pytorch/issues/121782>
    """

    code = "IND009"
    name = "atomic-scatter"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """Calls that add into indexed places, of the graph that adds most elements."""

        #: A kernel with atomic operations; else a call of ATen.
        is_atomic: bool
        calls: int
        elements: int
        operators: tuple[str, ...]
        #: Where the graph runs: ``cpu``, ``cuda``; empty where the log does not say.
        device: str
        #: Whether every one of them computes a mean.
        means: bool

    remedies = (
        Remedy(
            id="divide-sums",
            text="Add with index_add, which Inductor fuses, and divide by how often each place "
            "occurs (once more where include_self is left at True); count where the index is "
            "made, not in each call.",
            when="a mean by `scatter_reduce`",
            applies=lambda data: data.means,
            proof="tests/advice/IND009/divide-sums.py",
            basis="tested",
            edits=True,
        ),
        Remedy(
            id="segments",
            text="Where rows can be put into the order of the index once, before the loop, reduce "
            "them by segments (torch.segment_reduce). To reorder them in each call takes longer "
            "than the atomics.",
            when="not on a CPU",
            applies=lambda data: data.device not in {"cpu", ""},
            proof="needs a GPU, and rows that are in order: reordered in each call, 0.27 ms became "
            "0.52 on an H200",
            basis="untestable",
            edits=True,
        ),
        Remedy(
            id="gather",
            text="Where no place occurs twice, gather from the other side instead of scattering.",
            proof="tests/advice/IND009/gather.py",
            basis="tested",
            edits=True,
        ),
    )

    def check(
        self, modules: Table[OutputModule], *, graphs: Table[FxGraph], times: Table[KernelTime]
    ) -> Iterator[Finding]:
        """Yield one finding for kernels with atomics, and one for calls of ATen."""
        lines = graphs.derived(Lines)
        found = [scatter for row in modules for scatter in _atomics(row)]
        found += _calls(modules)
        for is_atomic in (True, False):
            group = [scatter for scatter in found if scatter.is_atomic is is_atomic]
            if group:
                heavy = heaviest(group, lambda one: id(one.seen), lambda one: one.elements)
                if sum(scatter.elements for scatter in heavy) >= MANY:
                    cost = cost_of({one.name for one in group if is_atomic}, times)
                    yield self._finding(heavy, lines, cost, is_atomic=is_atomic)

    def _finding(
        self, found: list[_Scatter], lines: Lines, cost: Cost | None, *, is_atomic: bool
    ) -> Finding:
        found.sort(key=lambda scatter: -scatter.elements)
        first = found[0]
        frames = lines.of(first.seen, first.step.comment, first.ops)
        moved = [scatter.bytes for scatter in found]
        little = _LITTLE if all(moved) and is_little(sum(moved), first.seen.record) else None
        if cost is not None and (cost.share or 0) < WORTH:
            little = _QUICK
        on_gpu = first.seen.record.device not in {"cpu", ""}
        if on_gpu and all(scatter.ops == ("embedding",) for scatter in found):
            little = little or _EMBEDDING
        total = sum(scatter.elements for scatter in found)
        how = "with atomic operations" if is_atomic else "by ATen, fused with nothing"
        data = self.Data(
            is_atomic=is_atomic,
            calls=len(found),
            elements=total,
            operators=tuple(sorted({op for scatter in found for op in scatter.ops})),
            device=first.seen.record.device,
            means=all(_MEAN in scatter.step.code.text for scatter in found),
        )
        return self.finding(
            "atomic" if is_atomic else "fallback",
            *sorted({op for scatter in found for op in scatter.ops}),
            title=f"{plural(len(found), 'call')} per run add{'s' if len(found) == 1 else ''} into "
            f"indexed places {how}",
            message=f"{total:,} elements per call of the graph; the most in `{first.name}`.",
            count=len(found),
            where=user_code.where(user_code.best(frames)),
            evidence=[
                quote(one.seen, one.step, f"{one.elements:,} elements")
                for one in found[:MAX_QUOTED]
            ],
            harmless=little,
            cost=cost,
            advice=() if little else self.advise(data),
            data=data,
        )


def _atomics(row: Seen[OutputModule]) -> Iterator[_Scatter]:
    flow = row.record.flow
    for step, call in row.record.kernel_calls():
        kernel = row.record.kernels.get(call.kernel)
        if kernel is None or "atomic_add" not in kernel.source:
            continue
        if not _ADDS.search(kernel.source):
            continue
        counts = [content.count or 0 for content in flow.operands(step)]
        # The gradient of an embedding has no scatter in its name.
        known = {"embedding", *(op.rstrip("_") for op in SCATTERS)}
        ops = tuple(sorted(op for op in known if op in kernel.fused))
        yield _Scatter(row, step, kernel.kernel, ops, True, max(counts, default=0))


def _calls(modules: Table[OutputModule]) -> Iterator[_Scatter]:
    for one in fallbacks(modules):
        if one.op in SCATTERS:
            for call in one.calls:
                count = max((content.count or 0 for content in call.operands), default=0)
                ops = (one.op.strip("_"),)
                yield _Scatter(call.seen, call.step, one.name, ops, False, count)
