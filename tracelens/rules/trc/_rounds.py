"""What a step does again and again: rounds of a loop, and numbers that Python reads."""

from __future__ import annotations

from collections.abc import Sequence

from tracelens.evidence import Table
from tracelens.logs.chrome_trace import Operator, RuntimeCall
from tracelens.remedies import Remedy

__all__ = ["LOOPS", "alike", "reads", "rounds"]

#: Rounds of a loop from which on tracing all of it takes minutes: layers of a model are fewer.
MANY_ROUNDS = 128
#: Operators that a round has at least, how much their numbers may differ, and which part of all
#: launches are theirs.
MIN_OPERATORS, ALIKE, MOST = 4, 0.05, 0.5
#: Numbers that are read in a step: a loss, a norm and the scale of a scaler are fewer.
MANY_READS = 8
#: Launches between two of them, at most.
MAX_BETWEEN = 200
#: Operators that move nothing, and those that the others call.
_VIEWS = frozenset(
    {"as_strided", "detach", "expand", "permute", "reshape", "result_type", "select"}
)
_VIEWS |= {"slice", "squeeze", "t", "to", "_to_copy", "transpose", "unsqueeze", "view", "unbind"}
_VIEWS |= {"empty", "empty_like", "empty_strided", "item", "is_nonzero", "_reshape_alias", "alias"}
#: What reads a number: ``item()``, ``bool(tensor)`` and ``if tensor`` come to it.
_READS = "_local_scalar_dense"

LOOPS = (
    Remedy(
        id="record-loop",
        text="Record the loop once as one CUDA graph, and replay it: of a sampling of farthest "
        "points with 640 rounds, a step of 89 ms became 22. It holds for one size, for what reads "
        "no number, and for what needs no gradient; with gradients, "
        "`torch.cuda.make_graphed_callables` records a module. To compile the whole loop takes "
        "minutes: it is unrolled.",
        code="out = loop(static)  # once before, on a stream of its own\n"
        "graph = torch.cuda.CUDAGraph()\n"
        "with torch.cuda.graph(graph): out = loop(static)\n"
        "static.copy_(x); graph.replay()  # from then on; the result is in out",
        when="rounds of a loop launch most of the kernels, and read no numbers",
        applies=lambda data: data.rounds > 0 and not (data.numbers or data.cells or data.passes),
        since="1.10",
        basis="untestable",
        proof="it needs a GPU: followed on an H200 (docs/campaigns/gpu.json)",
    ),
    Remedy(
        id="compile-round",
        text="Make one round of the loop a function, compile that, and leave the loop as it is: "
        "its kernels are fused, and it is compiled once. The same 89 ms became 60 so.",
        code="one_round = torch.compile(one_round)",
        when="rounds of a loop launch most of the kernels",
        applies=lambda data: data.rounds > 0 and not (data.cells or data.passes or data.compiled),
        since="2.0",
        basis="untestable",
        proof="it needs a GPU: followed on an H200 (docs/campaigns/gpu.json)",
    ),
)


def reads(
    operators: Table[Operator], calls: Table[RuntimeCall], source: str, steps: int, launches: float
) -> int:
    """Return how many numbers Python reads from the GPU in a step, where they are many; else 0.

    No graph holds what it does with them: a compiled one ends there, and a CUDA graph cannot be
    recorded over it. Each of them waits; numbers on the CPU, as an optimizer's steps, do not.
    """
    count = sum(row.count for row in operators.within(source) if row.record.op == _READS)
    count = min(count, sum(row.count for row in calls.within(source) if row.record.synchronizes))
    each = count // max(1, steps)
    return each if each >= MANY_READS and MAX_BETWEEN * count >= launches else 0


def rounds(operators: Table[Operator], source: str, steps: int, launches: float) -> int:
    """Return how often the body of a loop runs in a step, where it is most of what is launched.

    Several operators are then called equally often. 0 without steps, which may be what repeats.
    """
    if not steps:
        return 0
    counts = sorted(
        row.count
        for row in operators.within(source)
        if row.count >= MANY_ROUNDS * steps and _computes(row.record.op)
    )
    best = alike(counts)
    enough = len(best) >= MIN_OPERATORS and sum(best) >= MOST * launches
    return best[0] // steps if enough else 0


def alike(counts: Sequence[int]) -> list[int]:
    """Return the most of the sorted ``counts`` that are about the same."""
    best: list[int] = []
    first = 0
    for last, count in enumerate(counts):
        while counts[first] < (1 - ALIKE) * count:
            first += 1
        if last - first >= len(best):
            best = list(counts[first : last + 1])
    return best


def _computes(operator: str) -> bool:
    """Whether an operator computes something new: optimizers write in place, views are none."""
    return not operator.endswith("_") and operator not in _VIEWS and operator != _READS
