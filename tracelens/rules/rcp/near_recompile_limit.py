"""RCP029 near-recompile-limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.dynamo.recompile_history import History, histories
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.report.stories import Story
from tracelens.report.stories import recompiles as recompiles_of
from tracelens.rules import Rule
from tracelens.rules.rcp._by_cause import NUMBERS
from tracelens.rules.rcp._changes import limit_of, owner
from tracelens.rules.rcp._data import Function, RecompileData, guards_of, is_finite
from tracelens.words import is_whole

if TYPE_CHECKING:
    from tracelens.dynamo.settings import Setting

__all__ = ["NearRecompileLimit"]

MAX_NAMED = 4
#: The limit, as torch 2.7 calls it and as it was called before.
_SETTINGS = ("torch._dynamo.config.recompile_limit", "torch._dynamo.config.cache_size_limit")


class NearRecompileLimit(Rule):
    """A function has used nearly all of its entries: one more variant makes it run eagerly.

    ## Why it matters
    A function gets eight entries. At the eighth all is well, and nothing warns; the next new size,
    mode or model runs eagerly, in production perhaps, where the warm-up did not come by.

    ## What it looks like
    The number after the slash is the entry: seven is the eighth, and the last.

        [0/7] [__recompiles] Recompiling function wrapper in /home/ana/proj/generic.py:1019
        [0/7] [__recompiles]     triggered by the following guard failure(s):
        [0/7] [__recompiles]     - 0/6: tensor 'x' size mismatch at index 2. expected 1, actual 2

    ## When it is harmless
    When all variants that can occur have been seen: then the entries are enough.

    ## What to do
    Remove the causes, which the other findings about the function name. Or raise the limit, where
    the variants are finite and known, to their number.

    ## How a live run confirms it
    The same run with dynamic sizes from the first call, where sizes or numbers fill the entries.
    Other causes are changed in the program.

    ## See also
    RCP001 (when it is hit), RCP030 (models that share the entries).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP029"
    name = "near-recompile-limit"
    severity = Severity.INFO
    experiment = Experiment(Knob("dynamic sizes from the first call", compile={"dynamic": True}))

    Data = RecompileData
    remedies = (
        Remedy(
            "causes-first",
            "Remove the causes that the other findings about it name.",
            basis="untestable",
            proof="the rules about the causes say what to do",
        ),
        Remedy(
            "raise-limit",
            lambda data: f"Or raise the limit from {data.limit} to the number of variants.",
            when="the variants are finite: modes, classes, dtypes; no counter, no sizes",
            applies=is_finite,
            setting=lambda data: f"torch._dynamo.config.recompile_limit = {data.limit * 2}",
            since="2.7",
            basis="untestable",
            proof="a log without the warning does not tell the limit",
        ),
    )

    def experiments(self, finding: Finding) -> tuple[Experiment, ...]:
        """Dynamic sizes from the first call, where sizes or numbers are the cause."""
        return (self.experiment,) if finding.data.get("cause", "") in NUMBERS else ()

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to what recompiles the function."""
        data = self.data_of(finding)
        if isinstance(data, RecompileData):
            yield recompiles_of(data.file, data.line)

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        limits: Table[RecompileLimit],
        trees: Table[GuardTree],
        settings: Table[Setting],
    ) -> Iterator[Finding]:
        """Yield one finding per function, about its fullest history."""
        given = _given(settings)
        fullest: dict[tuple[str, str, int], History] = {}
        for history in histories(recompiles):
            held = fullest.get(history.definition)
            if held is None or len(held.steps) < len(history.steps):
                fullest[history.definition] = history
        highest = max((history.steps[-1].number for history in fullest.values()), default=0)
        for definition, history in fullest.items():
            limit, is_hit = limit_of(definition, limits, highest)
            limit = given or limit
            entries = history.steps[-1].number + 1
            if is_hit or not limit or not limit - 1 <= entries <= limit:
                continue
            last = history.steps[-1]
            left = "none is left" if entries == limit else "one is left"
            data = _data(history, limit)
            yield self.finding(
                history.function,
                user_code.short(history.file),
                title=f"`{history.function}` uses {entries} of its {limit} entries: {left}",
                message="Further variants will run without compilation. The entries were made "
                f"for: {_causes(history)}.",
                confidence=Confidence.MEDIUM,
                count=len(history.steps),
                where=user_code.where(history.code(last, trees)),
                evidence=[last.quote()],
                advice=self.advise(data),
                data=data,
            )


def _given(settings: Table[Setting]) -> int:
    """Return the limit that the program has set, as its configuration in the log says; else 0."""
    told = {row.record.value for row in settings if row.record.name in _SETTINGS}
    return max((int(value) for value in told if is_whole(value)), default=0)


def _causes(history: History) -> str:
    counts = Counter(owner(step).what for step in history.steps)
    named = [
        f"{what} ({count} times)" if count > 1 else what
        for what, count in counts.most_common(MAX_NAMED)
        if what
    ]
    more = len(counts) - MAX_NAMED
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def _data(history: History, limit: int) -> RecompileData:
    causes = Counter(owner(step).code for step in history.steps)
    values = [owner(step).value for step in history.steps]
    return RecompileData(
        cause=causes.most_common(1)[0][0],
        function=history.function,
        file=history.file,
        line=history.line,
        functions=(Function(name=history.function, file=history.file, line=history.line),),
        guards=guards_of(step.check for step in history.steps),
        values=tuple(value for value in dict.fromkeys(values) if value),
        recompiles=len(history.steps),
        most=len(history.steps),
        entries=history.steps[-1].number + 1,
        limit=limit,
    )
