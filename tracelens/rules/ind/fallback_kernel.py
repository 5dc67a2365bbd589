"""IND001 fallback-kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.epilogues import quote
from tracelens.inductor.fallbacks import (
    ARITHMETIC,
    COMPUTABLE,
    MAX_QUOTED,
    SCATTERS,
    Call,
    Fallback,
    Lowered,
    fallbacks,
)
from tracelens.inductor.graphs import heaviest, traffic
from tracelens.inductor.nucleus import Nucleus, is_of_distances
from tracelens.inductor.origins import Lines
from tracelens.logs._statements import KernelCall
from tracelens.logs.output_code import OutputModule
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import few, listed, plural, size

if TYPE_CHECKING:
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.perf_hints import FallbackKernel as Hint
    from tracelens.logs.warnings import TorchWarning

__all__ = ["FallbackKernel"]

#: Bytes per call of the graph that are worth a warning.
LARGE = 1 << 20
#: Calls per call of the graph that are worth one: a scan in every layer.
MANY = 16
#: Bytes up to which a few calls are not worth a change of the program.
TINY, FEW = 1 << 10, 4
#: Their part of what the graph moves, up to which they are not worth one, either.
SMALL_PART = 0.02
#: What Inductor leaves to ATen where it is joined on a CPU.
_BYTES = {"int8", "uint8"}


_RANKED = "it sums up what was sorted, or taken by topk, which takes a hundred times as long"


def _is_joined_bytes(data: FindingData) -> bool:
    types = set(getattr(data, "dtypes", ()))
    joined = getattr(data, "operators", ()) == ("aten.cat",) and getattr(
        data, "is_converted", False
    )
    return joined and bool(types) and types <= _BYTES


#: Tried with ``cumprod``: ``exp(log1p(-x) @ triu)``, of 195 columns.
_UNNAMED = (
    " No change is named: what replaces such an operator may take longer than ATen does, as a "
    "matrix product in place of `cumprod` did where it was tried."
)


class FallbackKernel(Rule):
    """An operator that is a mere loop over elements is called in ATen, fused with nothing.

    ## Why it matters
    Inductor generates no code for the operator on this device or for this type. It calls ATen, as
    eager mode does: what comes before must be written to memory, what comes after reads it again,
    and the call goes through the dispatcher.

    ## What it looks like
    In the generated code, a call of ``torch.ops``; with ``perf_hints``, a line per operator:

        [0/0] [__perf_hints] Using FallbackKernel: torch.ops.aten.cumsum.default

    ## When it is harmless
    For everything that belongs in a library: matrix products, attention, convolutions, linear
    algebra, sorting, Fourier transforms, random numbers, collectives, and operators of your own.
    Only scans, searches, padding and pooling backward, and element-wise operators are reported
    here, the rest in one note of severity ``none``. Below 1 MiB per call it is a note: the launch
    is all that it costs. Up to four calls that move 1 KiB in all, or less than 1 MiB and 2 % of
    what the graph moves, are nothing to act on. Complex numbers are IND010, scatters IND009.
    Sums of what was sorted before took a hundredth of the sort's time. The sort itself is told
    where top-p sampling sorts rows of 4,096 and more on a CPU; a loss may need the whole order.

    ## What to do
    Compute it once, outside of the compiled function, where it depends on sizes only; or write it
    with operators that Inductor generates code for; or cast to a type for which it does.

    ## How a live run confirms it
    The same function with the operator replaced: the call is gone from the code, and the step is
    faster. Refuted when it takes as long.

    ## See also
    IND009 (scatters), IND010 (complex numbers);
    <https://docs.pytorch.org/tutorials/intermediate/inductor_debug_cpu.html>
    """

    code = "IND001"
    name = "fallback-kernel"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """Calls of ATen, of the graph that moves most; or operators that are right as calls."""

        operators: tuple[str, ...]
        #: Per call of the graph.
        calls: int
        bytes: int
        #: Data types that the calls read; empty where the log shows no call.
        dtypes: tuple[str, ...] = ()
        #: Nothing but kernels that convert it read what each call returns.
        is_converted: bool = False
        #: Whole rows are sorted to sum up and draw from the most likely, as top-p sampling does.
        is_top_p: bool = False
        #: What is sorted are distances (typical sampling), of which the smallest are kept.
        is_of_distances: bool = False
        #: Each call reads what is passed into the graph, and nothing that the graph computes.
        is_given: bool = False

    remedies = (
        Remedy(
            id="top-p",
            text="To sample from the most likely tokens, take the top k of them first, and sum up "
            "and draw from these alone: `topk` returns them sorted. With probabilities of the "
            "whole vocabulary it is exact where k of them exceed p; else take more.",
            when="rows are sorted, summed up and drawn from",
            applies=lambda data: data.is_top_p and not data.is_of_distances,
            code="probs, at = logits.softmax(-1).topk(min(1024, logits.shape[-1]))\n"
            "keep = probs.cumsum(-1) - probs < p\n"
            "token = at.gather(-1, torch.multinomial(probs * keep, 1))",
            proof="tests/advice/IND001/top-p.py",
            basis="tested",
            edits=True,
        ),
        Remedy(
            id="convert-first",
            text="Convert before `torch.cat` or `torch.stack` what is converted right after it: "
            "Inductor has code for joining the other type.",
            when="int8 or uint8 tensors are joined on a CPU, and converted then",
            applies=_is_joined_bytes,
            code="w = torch.stack([a.to(dtype), b.to(dtype)], -1)",
            proof="tests/advice/IND001/convert-first.py",
            basis="tested",
            edits=True,
        ),
        Remedy(
            id="nearest",
            text="To keep the smallest of these distances, take k of them first, and sum up and "
            "draw from these alone: `torch.topk` with `largest=False` returns them sorted. It is "
            "exact where k of them exceed the mass that is kept.",
            when="distances are sorted, summed up and drawn from",
            applies=lambda data: data.is_top_p and data.is_of_distances,
            proof="https://docs.pytorch.org/docs/stable/generated/torch.topk.html",
            edits=True,
        ),
        Remedy(
            id="precompute",
            text="Where it counts positions of a mask, compute these once, outside of the "
            "compiled function, and pass them in.",
            when="cumsum of integers",
            applies=lambda data: (
                any(name.startswith(("aten.cumsum", "cumsum")) for name in data.operators)
                and not any("float" in dtype for dtype in data.dtypes)
            ),
            proof="tests/advice/IND001/precompute.py",
            basis="tested",
            edits=True,
        ),
        Remedy(
            id="rewrite",
            text="It reads what is passed into the graph, as it is: where that stays the same from "
            "call to call, compute it once, outside of the compiled function, and use the result.",
            when="an operator that reads inputs, parameters or buffers and nothing that the graph "
            "computes",
            applies=lambda data: data.is_given and not data.is_top_p,
            proof="tests/advice/IND001/rewrite.py",
            basis="tested",
            edits=True,
        ),
    )

    def check(
        self,
        lowered: Table[Lowered],
        *,
        modules: Table[OutputModule],
        hints: Table[Hint],
        graphs: Table[FxGraph],
        warnings: Table[TorchWarning],
    ) -> Iterator[Finding]:
        """Yield one finding per operator, and one note about those that are right."""
        del lowered
        found = fallbacks(modules, hints)
        has_complex = any(one.is_complex for one in found)
        warned = any(row.record.topic == "complex-operators" for row in warnings)
        lines = graphs.derived(Lines)
        right = []
        nucleus = Nucleus.of(found)
        if nucleus.sorts:
            yield self._sorting(nucleus.sorts, lines)
        for one in found:
            if one.library == "aten" and one.op in COMPUTABLE:
                # It falls back for its type alone: where hints are all, the warning tells which.
                of_complex = has_complex or (warned and not one.calls)
                if not (of_complex and one.op in ARITHMETIC):
                    yield self._finding(one, lines, nucleus)
            elif one.hints and not one.is_complex and one.op not in SCATTERS:
                right.append(one)
        if right:
            yield self._note(right)

    def _sorting(self, sorts: list[Call], lines: Lines) -> Finding:
        calls = heaviest(sorts, lambda call: id(call.seen), lambda call: call.bytes)
        first = max(calls, key=lambda call: call.bytes)
        rows = "x".join(str(each) for each in first.operands[0].size or ())
        data = self.Data(
            operators=("aten.sort",),
            calls=len(calls),
            bytes=sum(call.bytes for call in calls),
            dtypes=tuple(sorted({call.operands[0].dtype for call in calls})),
            is_top_p=True,
            is_of_distances=is_of_distances(first),
        )
        frame = user_code.best(lines.of(first.seen, first.step.comment, ["sort"]))
        return self.finding(
            "sorted to sum up",
            title=f"`aten.sort` sorts whole rows ({rows}), of which the first are summed up",
            message="Sampling needs the most likely tokens alone. On one core, sorting 8 "
            "rows of 32,000 took 24 ms, their top 1,024 took 3.5 ms, and what is done with either "
            "0.3 ms.",
            severity=Severity.WARNING,
            count=len(calls),
            where=user_code.where(frame),
            evidence=[quote(call.seen, call.step) for call in calls[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )

    def _finding(self, one: Fallback, lines: Lines, nucleus: Nucleus) -> Finding:
        calls = heaviest(one.calls, lambda call: id(call.seen), lambda call: call.bytes)
        moved = sum(call.bytes for call in calls)
        first = calls[0] if calls else None
        frame = None
        if first is not None:
            frame = user_code.best(lines.of(first.seen, first.step.comment, [one.op]))
        tiny = 0 < moved <= TINY and len(calls) <= FEW
        if first is not None and moved and len(calls) <= FEW:
            tiny |= moved < min(LARGE, SMALL_PART * traffic(first.seen.record))
        grave = moved >= LARGE or len(calls) >= MANY
        dtypes = {str(read.dtype) for call in calls for read in call.operands if read.dtype}
        data = self.Data(
            operators=(one.name,),
            calls=len(calls),
            bytes=moved,
            dtypes=tuple(sorted(dtypes)),
            is_converted=bool(calls) and all(map(_is_converted, calls)),
            is_given=bool(calls)
            and all(read.producer is None for call in calls for read in call.operands),
        )
        advice = self.advise(data)
        harmless = f"it moves {size(moved)}: a launch is all that it costs" if tiny else None
        harmless = _RANKED if nucleus.explains(calls) else harmless
        return self.finding(
            one.name,
            title=f"`{one.name}` is not compiled: {_times(calls)}",
            message=_message(one, calls, moved) + ("" if advice or harmless else _UNNAMED),
            severity=Severity.WARNING if grave and advice else Severity.INFO,
            confidence=Confidence.HIGH if calls else Confidence.MEDIUM,
            count=max(1, len(calls)),
            where=user_code.where(frame),
            evidence=one.quotes(),
            advice=advice,
            data=data,
            harmless=harmless,
        )

    def _note(self, right: list[Fallback]) -> Finding:
        names = [one.name for one in right]
        return self.finding(
            "as it should be",
            title=f"{plural(len(names), 'operator is', 'operators are')} called in a library",
            message=f"{listed(names)}: no code is generated for them.",
            harmless="a library is what they are for, or they are your own",
            data=self.Data(operators=tuple(names), calls=0, bytes=0),
            count=len(names),
            evidence=[one.hints[0].quote(at=one.hints[0].record.at) for one in few(right)],
        )


def _is_converted(call: Call) -> bool:
    """Whether kernels that convert it are all that reads the result."""
    readers = [step.code for result in call.results for step in result.readers]
    kernels = [
        call.seen.record.kernels.get(code.kernel) if isinstance(code, KernelCall) else None
        for code in readers
    ]
    return (
        bool(kernels)
        and not any(result.returned for result in call.results)
        and all(kernel is not None and "to_copy" in kernel.fused for kernel in kernels)
    )


def _times(calls: list[Call]) -> str:
    return f"{plural(len(calls), 'call')} of ATen per run" if calls else "ATen is called"


def _message(one: Fallback, calls: list[Call], moved: int) -> str:
    text = "Inductor has no code for it here, so it is fused with nothing"
    if moved:
        text += f"; it reads and writes {size(moved)} on its own per call of the graph"
    elif any(call.is_symbolic for call in calls):
        text += "; the sizes are symbolic"
    graphs = len({id(call.seen) for call in one.calls})
    text += f". {graphs} graphs of the log call it." if graphs > 1 else "."
    nodes = calls[0].step.comment.nodes if calls and calls[0].step.comment else ()
    return f"{text} It computes `{nodes[-1]}`." if nodes else text
