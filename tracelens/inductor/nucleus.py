"""Sorts whose values are summed up, as top-p sampling does, in generated code for a CPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from tracelens.inductor.fallbacks import Call, Fallback
from tracelens.logs._dataflow import Dataflow
from tracelens.logs._statements import ExternCall, KernelCall
from tracelens.logs.output_code import Step

__all__ = ["LONG", "Nucleus", "is_of_distances"]

#: Elements of a row from which the top 1,024 were four times as fast, and more, on one core.
LONG = 4096
#: Kernels that may stand between the sort and the sum: a softmax is one, or two.
MAX_HOPS = 3
_RANKS = frozenset({"sort", "topk"})


class Nucleus(msgspec.Struct):
    """What the cumulative sums of a log add up that was sorted, or taken as the largest, before."""

    #: The sorts, on a CPU, of long rows of floats.
    sorts: list[Call] = msgspec.field(default_factory=list)
    #: Sums, by the identity of their step, of what was sorted or taken.
    sums: set[int] = msgspec.field(default_factory=set)

    @classmethod
    def of(cls, found: Iterable[Fallback]) -> Nucleus:
        """Look behind each sort of the log."""
        nucleus = cls()
        for one in found:
            if one.library != "aten" or one.op not in _RANKS:
                continue
            for call in one.calls:
                sums, is_softmax = _sums_behind(call)
                nucleus.sums.update(id(step) for step in sums)
                if sums and one.op == "sort" and is_long(call) and (is_softmax or _draws(call)):
                    nucleus.sorts.append(call)
        return nucleus

    def explains(self, calls: Iterable[Call]) -> bool:
        """Whether all of these calls sum up what was ranked before."""
        steps = [id(call.step) for call in calls]
        return bool(steps) and all(step in self.sums for step in steps)


def is_long(call: Call) -> bool:
    """Whether it sorts long rows of floats on a CPU."""
    rows = next((one for one in call.operands if one.size), None)
    if rows is None or rows.size is None or "float" not in rows.dtype:
        return False
    length = rows.size[-1]
    return isinstance(length, int) and length >= LONG and _is_on_cpu(call)


def is_of_distances(call: Call) -> bool:
    """Whether the kernel that made what is sorted ends with magnitudes, as typical sampling does.

    Its name lists what is fused, in alphabetical order.
    """
    makers = [one.producer.code for one in call.operands if one.producer is not None]
    names = [code.kernel for code in makers if isinstance(code, KernelCall)]
    return any("abs" in name.split("_") for name in names)


def _is_on_cpu(call: Call) -> bool:
    return call.seen.record.device == "cpu"


def _sums_behind(call: Call) -> tuple[list[Step], bool]:
    """Return the sums of floats that kernels alone stand before, and whether one is a softmax.

    Without it, the whole order may be needed: a loss, or a projection onto the simplex.
    """
    module = call.seen.record
    seen: set[int] = {id(call.step)}
    sums, steps, names = list[Step](), [call.step], list[str]()
    for _ in range(MAX_HOPS + 1):
        behind = [one for step in steps for one in _readers(module.flow, step)]
        behind = [step for step in behind if id(step) not in seen]
        seen.update(map(id, behind))
        sums += [step for step in behind if _is_sum(module.flow, step)]
        names += [] if sums else [_kernel(step) for step in behind]
        steps = [step for step in behind if _kernel(step)]
    return list({id(step): step for step in sums}.values()), any("softmax" in n for n in names)


def _kernel(step: Step) -> str:
    return step.code.kernel if isinstance(step.code, KernelCall) else ""


def _draws(call: Call) -> bool:
    return any(code.op == "multinomial" for _, code in call.seen.record.extern_calls())


def _readers(flow: Dataflow, step: Step) -> Iterator[Step]:
    for result in flow.results(step):
        yield from result.readers


def _is_sum(flow: Dataflow, step: Step) -> bool:
    code = step.code
    if not isinstance(code, ExternCall) or code.op != "cumsum":
        return False
    return any("float" in operand.dtype for operand in flow.operands(step))
