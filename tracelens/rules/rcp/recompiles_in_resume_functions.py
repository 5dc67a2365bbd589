"""RCP024 recompiles-in-resume-functions."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.recompile_history import History, histories
from tracelens.evidence import Table
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.rules.rcp._data import RESUMED, Function, RecompileData, told_by

__all__ = ["RecompilesInResumeFunctions"]

#: Recompiles of one such function from which on more than sizes and modes vary.
MANY = 4
MAX_QUOTED = 4
MAX_NAMED = 3


class RecompilesInResumeFunctions(Rule):
    """What stands behind a graph break is recompiled on its own: the break exposes more guards.

    ## Why it matters
    A graph break cuts a function in two. The second part is a function of its own, whose arguments
    are all local variables that live across the break: intermediate tensors, Python numbers, lists.
    Each of them is guarded, so one change of the input recompiles every part, and values that would
    have stayed inside of one graph become reasons to compile.

    ## What it looks like
    Dynamo calls the second part by the line where it begins:

        [6/1] [__recompiles] Recompiling function torch_dynamo_resume_in_forward_at_241 in\
 /home/ana/proj/gcn_conv.py:241
        [6/1] [__recompiles]     triggered by the following guard failure(s):
        [6/1] [__recompiles]     - 6/0: tensor 'x' size mismatch at index 0. expected 40, actual 31

    What the single recompiles are about is told by the rules for their guards; this finding counts
    them, once per log, and says what they have in common. What they cost is in those findings.

    ## When it is harmless
    One recompile behind a break is a note: the other parts were recompiled for the same reason.

    ## What to do
    Remove the first graph break of the function that is named; the parts behind it are gone then.

    ## How a live run confirms it
    The same calls without the break, or with ``fullgraph=True`` to find it: fewer recompiles.

    ## See also
    GBR012 (the breaks of a log), RCP003 (one change in many functions).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP024"
    name = "recompiles-in-resume-functions"
    severity = Severity.WARNING
    unconfirmable = "it is explained by another finding, whose experiment tests it"

    Data = RecompileData
    remedies = (
        Remedy(
            "remove-break",
            "Remove the graph break in front of it: one function then has one set of guards.",
            when="the break is in code of your own",
            applies=lambda data: not data.is_of_library,
            basis="tested",
            proof="tests/advice/RCP024/remove-break.py",
        ),
        Remedy(
            "breaks-first",
            lambda data: (
                f"Begin with the graph break in front of {user_code.short(data.file, data.line)}: "
                "this one goes with it."
            ),
            when="the break is in an installed package",
            applies=lambda data: data.is_of_library,
            basis="untestable",
            proof="it says where to begin; the rule about that break says what to do",
            says=True,
        ),
        Remedy(
            "see-breaks",
            "See where the graph breaks, and what helps there.",
            when="the break is in an installed package, and the log holds no graph breaks",
            applies=lambda data: data.is_of_library,
            env='TORCH_LOGS="graph_breaks,recompiles,guards"',
            basis="untestable",
            proof="it records more",
        ),
    )

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to the graph breaks."""
        data = self.data_of(finding)
        if isinstance(data, RecompileData):
            yield from told_by(data)

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        trees: Table[GuardTree],
        breaks: Table[GraphBreak],
    ) -> Iterator[Finding]:
        """Yield one finding for all of them."""
        found = histories(recompiles)
        resumed = [history for history in found if history.function.startswith(RESUMED)]
        if not resumed:
            return
        fullest = max(resumed, key=lambda history: len(history.steps))
        steps = [step for history in resumed for step in history.steps]
        total = sum(len(history.steps) for history in found)
        one = len(steps) == 1
        few = one and _entries(fullest) < MANY
        parts = "one function" if len(resumed) == 1 else f"{len(resumed)} functions"
        functions = dict.fromkeys(history.definition for history in resumed)
        data = RecompileData(
            cause=self.code,
            function=fullest.function,
            file=fullest.file,
            line=fullest.line,
            functions=tuple(Function(name=n, file=f, line=at) for n, f, at in functions),
            recompiles=len(steps),
            most=len(fullest.steps),
            entries=fullest.steps[-1].number + 1,
        )
        yield self.finding(
            title=f"{len(steps)} of {total} recompiles {'is' if one else 'are'} in code behind a "
            "graph break",
            message=f"They are in {parts} that a break cut off: {_named(resumed)}. All local "
            "variables that live across a break are guarded, so one change recompiles every part.",
            severity=_severity(fullest),
            count=len(steps),
            where=user_code.where(fullest.code(fullest.steps[0], trees)),
            evidence=[history.steps[0].quote() for history in resumed[:MAX_QUOTED]],
            advice=[one for one in self.advise(data) if one.id != "see-breaks" or not len(breaks)],
            data=data,
            harmless="one change recompiles each part once" if few else None,
        )


def _entries(fullest: History) -> int:
    """Return how often the function was compiled again, also before the log begins."""
    return max(len(fullest.steps), fullest.steps[-1].number)


def _severity(fullest: History) -> Severity:
    if _entries(fullest) >= MANY:
        return Severity.WARNING
    return Severity.INFO


def _named(resumed: list[History]) -> str:
    counts: dict[str, int] = {}
    for history in resumed:
        name = history.function.removeprefix(RESUMED).rpartition("_at_")[0]
        place = f"`{name}` ({user_code.short(history.file)})"
        counts[place] = counts.get(place, 0) + len(history.steps)
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    listed = [f"{place} {_times(count)}" for place, count in ranked[:MAX_NAMED]]
    more = len(ranked) - MAX_NAMED
    return ", ".join(listed) + (f" and {more} more" if more > 0 else "")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
