"""The result of ``torch._dynamo.explain``, printed by a program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracelens.grammars import Unreadable
from tracelens.late import late
from tracelens.logs import Log, Record
from tracelens.logs._kinds import kind
from tracelens.logs._literals import Evaluated
from tracelens.logs._stack import StackFrame
from tracelens.logs._text import Stripped
from tracelens.logs.compile_times import Phase

__all__ = [
    "BreakReason",
    "CompileReason",
    "CompileReasons",
    "Explain",
    "Explanation",
    "GraphOps",
    "ListedFrame",
    "LooseExplanation",
    "NumberedFrame",
    "NumberedReason",
    "Phase",
    "StackFrame",
    "broken",
]


#: What Python prints of the object itself, and its numbers in the form of its own text.
_PRINTED = late(
    r"ExplainOutput\(graphs=[^\n]{0,20000}?graph_count=(?P<graphs>\d{1,6}), "
    r"graph_break_count=(?P<breaks>-?\d{1,6}), break_reasons="
    r"(?:\[\]|(?P<reasons>\[GraphCompileReason\([^\n]*?\)\](?=, op_count=|$)))"
    r"(?:, op_count=(?P<ops>\d{1,6}))?"
)
_COUNTS = "Graph Count: {graphs}\nGraph Break Count: {breaks}\nOp Count: {ops}"


class Explain(Log):
    """``ExplainOutput``."""

    name = "explain"
    switch = "print(torch._dynamo.explain(model)(*inputs))"
    marks = ("Graph Count: ", "GraphCompileReason(", "[GraphCompileReason(", "ExplainOutput(")
    begins = re.compile(
        r"(?:\(')?Dynamo produced \d{1,6} graphs,? ?with -?\d{1,6} graph break"
        r"|Break Reasons:$| {0,8}Break Reason \d{1,6}:$"
        r"|reason=(?:'[^\n]*'|\"[^\n]*\"),? user_stack=\[<FrameSummary"
    )
    continues = re.compile(
        r"\d{1,6}\. |Graph Break Count: |Op Count: |Break Reasons:"
        r"|Ops per Graph:|Out Guards:|Compile Times: "
        r"| +\S| *$|Function(?:, | {2,})Runtimes|-+ +-+$|[\w.<>]+(?:, | {2,})\d+\.\d{4}"
        r"|GraphCompileReason\(|Reason: |User Stack:|<FrameSummary file |Break Reason \d{1,6}:"
    )

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return what explain says, and each reason as the break that it is.

        A break that the log tells of besides is not counted twice: this one announces it.
        """
        from tracelens.logs._payloads import moved  # noqa: PLC0415 -- it reads all kinds

        if found := _PRINTED.match(text):
            text = found["reasons"] or _COUNTS.format(**found.groupdict("0"))
            return tuple(moved(record, lambda _: 0) for record in cls.parse(text))
        printed = text.startswith("('")  # torch 2.0 returned a tuple, which Python prints in a line
        said = text[2:].partition("', [")[0].replace("\\n", "\n") if printed else text
        records = super().parse(said)
        if printed:
            records = tuple(moved(record, lambda _: 0) for record in records)
        return (*records, *(found for record in records for found in _breaks(record)))


class BreakReason(Record):
    """Why a graph ended, and where in the user's code."""

    at: int = 0
    reason: str = ""
    #: Explanation, hints and debug context, line by line.
    details: tuple[Stripped, ...] = ()
    stack_frames: tuple[StackFrame, ...] = ()


class CompileReason(Record):
    """The same as Python prints the object; text behind a line break is details."""

    at: int = 0
    reason_is: Evaluated = ""
    stack_frames: tuple[StackFrame, ...] = ()
    graph_break: str = "True"


class GraphOps(Record):
    """The operations of one graph, as Python prints the functions."""

    operations: tuple[Stripped, ...] = ()


class Explanation(Record):
    """One call of explain. ``breaks`` is one less than ``graphs``: -1 for a skipped frame."""

    graphs: int
    breaks: int
    ops: int
    break_reasons: tuple[BreakReason, ...] = ()
    graph_ops: tuple[GraphOps, ...] = ()
    phases: tuple[Phase, ...] = ()


#: The same in a numbered list, as torch 2.0 prints it.
NumberedReason = BreakReason
NumberedFrame = StackFrame

#: A frame in a list.
ListedFrame = StackFrame


class LooseExplanation(Record):
    """The part of an explanation behind its counts, where these were not pasted."""

    break_reasons: tuple[BreakReason, ...] = ()
    graph_ops: tuple[GraphOps, ...] = ()
    phases: tuple[Phase, ...] = ()


class CompileReasons(Record):
    """``break_reasons`` of an explanation, as Python prints the list."""

    compile_reasons: tuple[CompileReason, ...] = ()


def _breaks(record: Record) -> Iterator[Record]:
    """Yield the graph breaks that an explanation lists."""
    if isinstance(record, Explanation | LooseExplanation):
        for told in record.break_reasons:
            details = [line.strip() for text in told.details for line in text.split("\n")]
            yield from broken(told.reason, details, told.stack_frames, told.at)
    elif isinstance(record, CompileReasons):
        for one in record.compile_reasons:
            first, *rest = one.reason_is.split("\n")
            if one.graph_break != "False":
                yield from broken(first, [line.strip() for line in rest], one.stack_frames, one.at)


def broken(
    reason: str, details: list[str], stack: tuple[StackFrame, ...] = (), at: int = 0
) -> Iterator[Record]:
    """Yield a break that is listed, read in the form in which the log prints it."""
    from tracelens.logs._payloads import moved  # noqa: PLC0415 -- it reads all kinds

    place = f"{stack[-1].file}:{stack[-1].line}" if stack else "?:0"
    lines = [f"Graph break in user code at {place}", f"Graph Break Reason: {reason}"]
    lines += [f"  {line}" if line else "" for line in details]
    lines += ["", "User code traceback:"] if stack else []
    lines += [f'  File "{one.file}", line {one.line}, in {one.function}' for one in stack]
    try:
        found = kind("graph_breaks").parse("\n".join(lines))
    except Unreadable:
        return
    for one in found:
        told = one.model_copy(update={"announced": True, **({} if stack else {"file": ""})})
        yield moved(told, lambda _: at)
