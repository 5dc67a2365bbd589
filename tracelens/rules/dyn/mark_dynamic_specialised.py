"""DYN002 mark-dynamic-specialised."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.evidence import Place, Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.failures import Failure as Ending
from tracelens.logs._stack import StackFrame
from tracelens.logs.compile_errors import Failure, LogError
from tracelens.logs.dynamic import CreateSymbol, GuardAdded, Replaced, Specialized
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, FindingData, Severity, Where
from tracelens.rules import Rule
from tracelens.words import few

__all__ = ["MarkDynamicSpecialised"]

_MARKED = re.compile(
    r"(?:marked (?=\S{1,80} as dynamic)|valid because )(\S{1,80})"
    r" (?:as dynamic but your code specialized it|was inferred) to be a constant \((-?\d+)"
)
_VIOLATED = re.compile(r"Constraints violated \(((?:[^()!\n]|\(\)){1,80})\)")
_SYMBOL = re.compile(r"[suz]\d+$")
_DIMENSION = re.compile(r"L\['(\w+)'\]\.size\(\)\[(\d+)\]")


#: The last line of a text that ends before the message.
_RAISES = "raise constraint_violation_error"
_CUT = "The text ends before the message, which names the dimension and says what to write instead."


class MarkedData(FindingData):
    """A dimension that was marked dynamic, and is a constant."""

    #: ``L['x'].size()[0]``; the name of the ``Dim`` in an export.
    source: str
    #: The constant.
    value: str
    #: The line that made it one; empty where the log does not say.
    file: str = ""
    line: int = 0
    code: str = ""
    #: The condition on the symbol: ``Eq(s77, 16)``.
    condition: str = ""
    #: The message proposes bounds or relations, and names no constant.
    relation: bool = False
    ended_program: bool = False

    @property
    def dimension(self) -> tuple[str, int] | None:
        """The argument and its dimension: ``("x", 0)``; None for a ``Dim`` and for attributes."""
        found = _DIMENSION.fullmatch(self.source)
        return (found[1], int(found[2])) if found else None


def _maybe(data: MarkedData) -> str | None:
    if data.dimension is None:
        return None
    tensor, dimension = data.dimension
    return f"torch._dynamo.maybe_mark_dynamic({tensor}, {dimension})"


class MarkDynamicSpecialised(Rule):
    """A dimension that was marked dynamic is a constant for the compiled code.

    ## Why it matters
    ``mark_dynamic`` and ``torch.export`` with a ``Dim`` promise that one entry serves many sizes. A
    comparison with a number, an operation with a tensor of a fixed size, or a list that is unrolled
    makes the size a constant, and compiling stops with an error.

    ## What it looks like
    The exception names the dimension and the size, and since torch 2.11 the line:

        torch.fx.experimental.symbolic_shapes.ConstraintViolationError: Constraints violated (L['x'].size()[0])! For more information, run with TORCH_LOGS="+dynamic".
          - You marked L['x'].size()[0] as dynamic but your code specialized it to be a constant (16). If you're using mark_dynamic, either remove it or use maybe_mark_dynamic.

        User stack:
          File "/home/ana/proj/model.py", line 21, in attend
            if x.shape[0] == TOKENS:

    ## When it is harmless
    When the size is a constant indeed: then the mark is wrong, not the code.
    ``maybe_mark_dynamic`` asks for dynamic without promising it, and never raises.

    ## What to do
    Remove what compares the size with a number. Where it is fixed by a weight or by the model, take
    the mark away. ``TORCH_LOGS="dynamic"`` shows the condition that made it a constant.

    ## How a live run confirms it
    The same call with ``maybe_mark_dynamic``: it compiles, and the size is still a constant.

    ## See also
    DYN001, RCP023 (a branch on a symbolic size), RCP002 (sizes that are held static).
    <https://docs.pytorch.org/docs/stable/torch.compiler_dynamic_shapes.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "DYN002"
    name = "mark-dynamic-specialised"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM
    Data = MarkedData
    remedies = (
        Remedy(
            "change-line",
            lambda data: f"Change the line so that it holds for every size: `{data.code}`.",
            when="the line is known",
            applies=lambda data: bool(data.code),
            basis="tested",
            proof="tests/advice/DYN002/change-line.py",
            edits=True,
        ),
        Remedy(
            "relation",
            "Take the bounds and relations that the message proposes into `dynamic_shapes`, or let "
            "torch find them.",
            code='export(model, args, dynamic_shapes={"x": {0: torch.export.Dim.AUTO}})',
            when="the message names no constant",
            applies=lambda data: data.relation,
            since="2.6",
            basis="source",
            proof="torch's own message; torch/export/dynamic_shapes.py",
        ),
        Remedy(
            "maybe-mark-dynamic",
            lambda data: (
                f"If {data.value} is the only size by design, ask without a promise "
                "instead of `mark_dynamic`, or take the mark away."
            ),
            when="a dimension of an argument, marked by `mark_dynamic`",
            applies=lambda data: data.dimension is not None and bool(data.value),
            code=_maybe,
            since="2.3",
            basis="tested",
            proof="tests/advice/DYN002/maybe-mark-dynamic.py",
        ),
        Remedy(
            "dim-auto",
            lambda data: (
                f"If {data.value} is the only size by design, give this dimension "
                "`torch.export.Dim.STATIC`, or `Dim.AUTO`, which lets the compiler decide."
            ),
            when="a `Dim` of an export",
            applies=lambda data: (
                data.dimension is None and data.source.isidentifier() and bool(data.value)
            ),
            since="2.6",
            basis="source",
            proof="torch's own message",
        ),
        Remedy(
            "see-condition",
            "See which condition makes it a constant.",
            when="the line is not known",
            applies=lambda data: not data.code and not data.condition,
            env='TORCH_LOGS="dynamic"',
            since="2.1",
            basis="source",
            proof="https://docs.pytorch.org/docs/stable/torch.compiler_dynamic_shapes.html",
        ),
    )

    def check(
        self,
        *,
        failures: Table[Failure],
        notes: Table[Specialized],
        symbols: Table[CreateSymbol],
        guards: Table[GuardAdded],
        replaced: Table[Replaced],
        endings: Table[Ending],
        errors: Table[LogError],
    ) -> Iterator[Finding]:
        """Yield one finding per dimension; a chain of exceptions names it more than once."""
        told = endings.where(lambda one: one.cause == "constraint")
        ended = {row.first.input for row in told if row.record.ended}
        groups: dict[tuple[str, str], list[tuple[Place, Seen[Failure] | Seen[Specialized]]]] = {}
        for place, failure in failures.events():
            if failure.record.topic == "constraint-violated":
                for special in failure.record.specialized:
                    groups.setdefault((special.source, special.value), []).append((place, failure))
        for place, note in notes.events():
            key = (note.record.source, note.record.value)
            groups.setdefault(key, []).append((place, note))
        for (source, value), events in groups.items():
            condition = _condition(source, value, symbols, guards, replaced)
            died = any(place.input in ended for place, _ in events)
            yield self._finding(source, value, events, condition, ended=died)
        if not groups:
            yield from map(self._pasted, told)
        if not (groups or len(told)) and any(map(_is_of_shapes, errors)):
            yield from self._cut_off(symbols, guards, replaced)

    def _cut_off(
        self, symbols: Table[CreateSymbol], guards: Table[GuardAdded], replaced: Table[Replaced]
    ) -> Iterator[Finding]:
        """Yield what became a constant where torch's error about it is cut off.

        It is the only size that did; of several nobody knows which one was marked.
        """
        fixed = {row.record.symbol: row for row in replaced if row.record.target.isdecimal()}
        marked = [row.record for row in symbols if row.record.symbol in fixed]
        if len({one.source for one in marked}) != 1:
            return
        source, seen = marked[0].source.strip(), fixed[marked[0].symbol]
        value = seen.record.target
        condition = _condition(marked[0].source, value, symbols, guards, replaced)
        line = _cause([], condition)
        by = f", because of `{line.code}`" if line and line.code else ""
        yield self.finding(
            source,
            line.code if line else "",
            title=f"`{source}` was marked dynamic, and the code specializes it to {value}{by}",
            message=f"Torch could not make the guards on sizes, and `{source}` became {value} "
            "before: the rest of its message, which is not in the log, says so.",
            confidence=Confidence.MEDIUM,
            where=user_code.where(line),
            evidence=[seen.quote(), *([condition.quote("the condition")] if condition else [])],
            advice=self.advise(MarkedData(source=source, value=value)),
            data=MarkedData(source=source, value=value),
        )

    def _pasted(self, seen: Seen[Ending]) -> Finding:
        """Return the finding of an error that came in a program's own words, or cut."""
        ending = seen.record
        special = _MARKED.search(ending.message)
        dims = special or _VIOLATED.search(ending.message)
        data = MarkedData(
            source=dims[1] if dims else "a dimension",
            value=special[2] if special else "",
            file=ending.file,
            line=ending.line,
            relation=special is None,
            ended_program=ending.ended,
        )
        name = f"`{data.source}`" if dims else data.source
        return self.finding(
            data.source,
            data.value,
            title=f"{name} was marked dynamic, and the code specializes it to {data.value}"
            if data.value
            else f"the code does not keep what is promised of {name}",
            message=f"The compiled code would be valid for the size {data.value} only, against the "
            "promise of the mark."
            if data.value
            else " ".join(ending.message.split())[:600].replace(_RAISES, _CUT) or _CUT,
            severity=Severity.ERROR if ending.ended else self.severity,
            where=Where(file=ending.file, line=ending.line) if ending.file else None,
            evidence=[seen.quote(at=ending.at)],
            advice=self.advise(data),
            data=data,
        )

    def _finding(
        self,
        source: str,
        value: str,
        events: list[tuple[Place, Seen[Failure] | Seen[Specialized]]],
        condition: Seen[GuardAdded] | None,
        *,
        ended: bool,
    ) -> Finding:
        records = [row.record for _, row in events]
        line = _cause(records, condition)
        data = MarkedData(
            source=source,
            value=value,
            file=line.file if line else "",
            line=line.line if line else 0,
            code=line.code if line else "",
            condition=condition.record.expression if condition else "",
            ended_program=ended,
        )
        by = f", because of `{line.code}`" if line and line.code else ""
        guard = ""
        quotes = [_quote(place, row, source) for place, row in few(events)]
        if condition is not None:
            guard = f" The condition that did it is `{condition.record.expression}`."
            quotes.append(condition.quote("the condition", at=condition.record.at))
        # Up to torch 2.0 the line names a symbol, and not what made it one.
        is_symbol = _SYMBOL.match(source) is not None
        how = f"`{source}` is a dynamic size" if is_symbol else f"`{source}` was marked dynamic"
        promise = "" if is_symbol else ", against the promise of the mark"
        return self.finding(
            source,
            line.code if line else "",
            title=f"{how}, and the code specializes it to {value}{by}",
            message=f"The compiled code would be valid for the size {value} only{promise}.{guard}",
            severity=Severity.ERROR if ended else None,
            where=user_code.where(line or _call(records)),
            evidence=quotes,
            advice=self.advise(data),
            data=data,
        )


def _is_of_shapes(seen: Seen[LogError]) -> bool:
    return seen.record.title.startswith("Error while creating guard") and "shape_env" in seen.text


def _cause(
    records: list[Failure | Specialized], condition: Seen[GuardAdded] | None
) -> StackFrame | None:
    """Return the line that made the size a constant: torch names it, or the condition does."""
    for record in records:
        if isinstance(record, Failure) and (line := user_code.best(record.user_stack)):
            return line
    comment = condition.record.where if condition else None
    if comment is None or not comment.file:
        return None
    files = [f.file for r in records if isinstance(r, Failure) for f in r.stack_frames]
    return user_code.located(comment, "", files)


def _call(records: list[Failure | Specialized]) -> StackFrame | None:
    """Return the line of the program that compiles or exports."""
    stacks = [record.stack_frames for record in records if isinstance(record, Failure)]
    return user_code.best(frame for stack in stacks for frame in stack)


def _condition(
    source: str,
    value: str,
    symbols: Table[CreateSymbol],
    guards: Table[GuardAdded],
    replaced: Table[Replaced],
) -> Seen[GuardAdded] | None:
    """Return the condition that made the size a constant, where the log has it."""
    names = {row.record.symbol for row in symbols if row.record.source == source}
    fixed = {row.record.symbol for row in replaced if row.record.target == value}
    if not names and len(fixed) == 1:  # an export has names of its own for dimensions
        names = fixed
    for row in guards:
        if any(row.record.expression == f"Eq({name}, {value})" for name in names & fixed):
            return row
    return None


def _quote(place: Place, row: Seen[Failure] | Seen[Specialized], source: str) -> EvidenceLine:
    lines = row.text.split("\n")
    at = next((i for i, line in enumerate(lines) if f" {source} " in line), 0)
    return row.quote(at=at, place=place)
