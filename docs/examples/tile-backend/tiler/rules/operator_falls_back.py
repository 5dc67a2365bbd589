"""TIL004 operator-falls-back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tiler.logs.tiler import Fallback, Graph
from tracelens import Advice, Finding, Rule, Table
from tracelens.evidence import Seen
from tracelens.report import FindingData, Where


class OperatorFallsBackData(FindingData):
    """An operator that the backend does not have."""

    op: str
    times: int


class OperatorFallsBack(Rule):
    """An operator is not in the backend, and runs elsewhere.

    ## Why it matters
    Its inputs and outputs are carried away from the cores and back.

    ## What it looks like

        tiler [0/0] fallback op=torch.cumsum node=cumsum file=/home/ana/proj/model.py line=12

    ## When it is harmless
    Where it is a small part of the graph.

    ## What to do
    Write it with operators that the backend has, or take it out of the compiled function.

    ## How a live run confirms it
    It does not: the change is made in the program.

    ## See also
    TIL101.
    """

    code = "TIL004"
    name = "operator-falls-back"
    unconfirmable = "the change is made in the program"
    Data = OperatorFallsBackData

    def check(self, graphs: Table[Graph], *, fallbacks: Table[Fallback]) -> Iterator[Finding]:
        """Yield one finding for each operator: a graph without one is why it is quiet."""
        del graphs
        operators: defaultdict[str, list[Seen[Fallback]]] = defaultdict(list)
        for seen in fallbacks:
            operators[seen.record.op].append(seen)
        for op, rows in operators.items():
            first = rows[0]
            times = sum(seen.count for seen in rows)
            place = Where(file=first.record.file, line=first.record.line)
            yield self.finding(
                op,
                title=f"{op} is not in the backend",
                message=f"It falls back in {times} {'graphs' if times > 1 else 'graph'}.",
                count=times,
                where=place if first.record.line else None,
                evidence=[seen.quote() for seen in rows[:3]],
                advice=[Advice(text=f"Write {op} with what the backend has.")],
                data=OperatorFallsBackData(op=op, times=times),
            )
