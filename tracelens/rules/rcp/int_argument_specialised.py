"""RCP004 int-argument-specialised."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.frames import Frame
from tracelens.dynamo.recompile_cost import cost_of
from tracelens.dynamo.recompile_history import Series, histories, series, settles
from tracelens.dynamo.recompile_variants import is_integer
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.logs.recompiles import Recompile
from tracelens.report import Advice, Confidence, Finding, Severity
from tracelens.rules import Rule
from tracelens.rules.rcp._changes import owner

__all__ = ["IntArgumentSpecialised"]

#: Changes from which on it is certain that the number is held constant.
CERTAIN = 3
MAX_QUOTED = 5
MAX_VALUES = 8


class IntArgumentSpecialised(Rule):
    """A function is compiled again for every value of a Python integer.

    ## Why it matters
    A step counter or a length that is passed as an int is a constant of the compiled code, unless
    Dynamo may make it a symbol. Then every value costs a compilation of seconds, and the ninth
    value makes the function run eagerly.

    ## What it looks like
    The newest entry fails on the same name, with one value after the other:

        [0/1] [__recompiles] Recompiling function f in /home/ana/proj/model.py:3
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: n == 2
        [0/2] [__recompiles] Recompiling function f in /home/ana/proj/model.py:3
        [0/2] [__recompiles]     triggered by the following guard failure(s):
        [0/2] [__recompiles]     - 0/1: n == 3
        [0/2] [__recompiles]     - 0/0: n == 2

    Up to torch 2.6 the name is written ``L['n']``.

    ## When it is harmless
    One recompile, after which the number is a symbol, is by design (RCP003); 0 and 1 keep an entry
    of their own, so two can be. A later guard such as ``0 <= n`` is a branch of the program on the
    symbol, and is bounded by the number of branches (RCP023).

    ## What to do
    Pass a tensor, or keep the counter outside. Do not compile with ``dynamic=False``; do not use
    the number in ``range()`` or where torch needs a constant.

    ## How a live run confirms it
    The same calls with ``torch.tensor(n)``: the recompiles are gone.

    ## See also
    RCP001 (what happens after the eighth value), RCP007 (integer attributes of modules), RCP023.
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP004"
    name = "int-argument-specialised"
    severity = Severity.WARNING
    experiment = Experiment(
        UNCHANGED,
        micro="recompile",
        confirms=(
            "with the number as a tensor nothing is compiled again, and the calls take less time"
        ),
        refutes="it is compiled again for tensors, too",
        leaves_open="the log does not tell the values",
    )

    def check(self, recompiles: Table[Recompile], *, frames: Table[Frame]) -> Iterator[Finding]:
        """Yield one finding per function and name."""
        groups: dict[tuple[object, ...], list[Series]] = {}
        for values in series(histories(recompiles)):
            step = values.steps[0]
            is_argument = is_integer(step.check) and owner(step).code == self.code
            if is_argument and not settles(values):
                groups.setdefault(values.subject, []).append(values)
        for group in groups.values():
            longest = max(group, key=lambda values: len(values.steps))
            steps = [step for values in group for step in values.steps]
            certain = len(longest.steps) >= CERTAIN
            history, (function, file, _, source, _) = longest.history, longest.subject
            place = history.code(longest.steps[0])
            numbers = longest.values
            more = ", ..." if len(numbers) > MAX_VALUES else ""
            yield self.finding(
                function,
                user_code.short(file),
                place.code,
                source,
                title=f"`{function}` is compiled again for every value of the integer `{source}`",
                message=f"`{source}` was {', '.join(numbers[:MAX_VALUES])}{more} and then another "
                f"value: {len(steps)} recompiles. An integer becomes a symbol when it changes for "
                f"the first time; this one is held constant, by dynamic=False or because the code "
                f"needs a constant, as range({source}) does.",
                severity=self.severity if certain else Severity.INFO,
                confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
                count=len(steps),
                where=user_code.where(place),
                evidence=[step.quote() for step in steps[:MAX_QUOTED]],
                cost=cost_of(steps, frames),
                advice=_advice(source),
            )


def _advice(source: str) -> list[Advice]:
    return [
        Advice(
            text="Pass the number as a tensor; its value is then not part of the guards.",
            code=f"{source} = torch.tensor({source})",
        ),
        Advice(
            text="Or let it become a symbol: compile without dynamic=False, and keep it out of "
            "range() and of loops that are unrolled.",
            code="torch.compile(model)  # dynamic=None, the default",
            since="2.1",
        ),
    ]
