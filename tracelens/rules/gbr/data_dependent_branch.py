"""GBR002 data-dependent-branch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from tracelens.dynamo.breaks import BreakSite, sites
from tracelens.dynamo.empties import leave_out
from tracelens.dynamo.first_flags import look_at_flags
from tracelens.dynamo.float_states import float_states, state_at
from tracelens.dynamo.guard_facts import varies_or_broadcasts
from tracelens.dynamo.recompile_variants import is_size
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.dynamo.sides import look_at_sides
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.graph_code import FxGraph
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import RangeCheck, Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story, graph_break
from tracelens.rules.gbr._branches import (
    asks_empty,
    asserted,
    branches,
    condition,
    eager_only,
    selected,
)
from tracelens.rules.gbr._kept_flags import PYTHON_FLAG, kept_flag
from tracelens.rules.gbr._sides import (
    BranchData,
    decide_outside,
    is_for_python,
    is_left_open,
    may_cond,
    may_select,
    must_check,
    parts,
    prepared,
    raise_in_graph,
    select,
    state_of,
    surely_raises,
)
from tracelens.rules.gbr._site_rule import LIBRARY, BreakData, SiteRule, own
from tracelens.rules.gbr._values import value_of

__all__ = ["DataDependentBranch"]


def _sizes_vary(recompiles: Table[Recompile]) -> bool:
    return any(
        is_size(failure.check) or isinstance(failure.check, RangeCheck)
        for row in recompiles
        for failure in row.record.failures
    )


class DataDependentBranch(SiteRule):
    """A Python ``if``, ``while``, ``and`` or ``assert`` looks at the value of a tensor.

    ## Why it matters
    Which side is taken is known only when the code runs, so the graph ends at the branch. Each side
    is compiled on its own; and inside a loop Dynamo gives up the whole function.

    ## What it looks like
    The reason names no function, since it is the language that cannot be traced:

        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:10
        [0/0] [__graph_breaks] Graph Break Reason: Data-dependent branching
        [0/0] [__graph_breaks]   Explanation: Detected data-dependent branching.

    Torch 2.6 calls it "Data-dependent jump", earlier versions ``generic_jump TensorVariable()``;
    torch 2.4 prints nothing at all.

    ## When it is harmless
    When the check is for debugging and can be switched off, or stands outside the hot path.

    ## What to do
    A check that raises: ``torch._assert_async`` with a message, in the graph, or the check in eager
    runs alone. A branch that ends a loop or the function early: compile what the function calls,
    and not the function. Else make it branchless, with ``torch.where``, ``torch.clamp`` or
    ``torch.nan_to_num``; in inference use ``torch.cond`` where the two sides differ in work.
    For a check in a library, compile the part of the model that does not hold it.

    ## How a live run confirms it
    The same calls with the branch replaced: one graph less per call, and the step is faster.

    ## See also
    GBR001 (numbers out of tensors), GBR006 (a break in a loop), GBR012 (all breaks).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html>
    """

    Data = BranchData

    code = "GBR002"
    name = "data-dependent-branch"
    severity = Severity.WARNING
    families: ClassVar[frozenset[str]] = frozenset({"branch"})
    experiment = Experiment(
        UNCHANGED,
        micro="graph_break:branch",
        confirms="with one of both sides selected, the break is gone and the step is faster",
        refutes="the break stays",
        leaves_open="the break is gone, and the step as slow: the break was cheap",
    )
    remedies = (
        PYTHON_FLAG,
        Remedy(
            "take-empty",
            lambda data: leave_out(data.code),
            when="an `if` in code of your own that asks whether the result of an operator is empty",
            applies=asks_empty,
            basis="tested",
            proof="tests/advice/GBR002/take-empty.py",
        ),
        Remedy(
            "assert-in-graph",
            lambda data: (
                f"{prepared(data)}Let the compiled code check the value. The message is needed: "
                "Inductor drops the check without one."
            ),
            when="an `assert` in code of your own, whose condition is a tensor",
            applies=lambda data: branches(data, "assert") and bool(asserted(data)),
            code=asserted,
            since="2.1",
            basis="tested",
            proof="tests/advice/GBR002/assert-in-graph.py",
        ),
        Remedy(
            "raise-in-graph",
            raise_in_graph,
            when="an `if` in code of your own that raises, or whose condition looks like a check "
            "and that the log does not show to compute",
            applies=must_check,
            code=asserted,
            since="2.1",
            basis="tested",
            proof="tests/advice/GBR002/raise-in-graph.py",
        ),
        Remedy(
            "check-in-eager",
            "Or leave the check to runs that are not compiled.",
            when="an `assert`, or an `if` that the log shows to raise, in code of your own",
            applies=lambda data: (
                branches(data, "assert") or (branches(data, "if") and surely_raises(data))
            ),
            code=eager_only,
            since="2.3",
            basis="tested",
            proof="tests/advice/GBR002/check-in-eager.py",
        ),
        Remedy(
            "compile-parts",
            parts,
            when="a `while`, a branch in a loop, one that Dynamo cannot resume from, in the "
            "function that was given up, that returns from a `forward`, or whose side calls what "
            "an object holds; code of your own",
            applies=lambda data: own(data) and is_for_python(data),
            basis="tested",
            proof="tests/advice/GBR002/compile-parts.py",
        ),
        Remedy(
            "select",
            select,
            when="an `if` in code of your own that may compute, and whose side is not seen to "
            "raise, or to call what an object holds; says what to do where it only raises, too",
            applies=may_select,
            code=selected,
            basis="tested",
            proof="tests/advice/GBR002/select.py",
        ),
        Remedy(
            "cond",
            "Or let the compiled code branch: both sides are functions of the same tensors, change "
            "none of them, and return new tensors of the same shape and layout.",
            when="an `if` in code of your own that is no check, whose side calls what an object "
            "holds, gradients are off, and no input's size is 1, or was another one",
            applies=may_cond,
            code=lambda data: f"torch.cond({condition(data)}, if_true, if_false, (x,))",
            since="2.3",
            basis="tested",
            proof="tests/advice/GBR002/cond.py",
        ),
        Remedy(
            "select-unseen",
            "Where the branch computes, compute both sides and select with `torch.where`; where it "
            "only raises, check with `torch._assert_async` and a message; else compile what the "
            "function calls, and let Python branch between compiled calls.",
            when="the log does not show the line, and it is in no package",
            applies=lambda data: not (data.code or data.package),
            proof="https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html",
        ),
        Remedy(
            "check-outside",
            decide_outside,
            when="code of your own, where what the compiled function is called with tells the "
            "value, or nothing else is known to do",
            applies=lambda data: own(data) and is_left_open(data),
            basis="tested",
            proof="tests/advice/GBR002/check-outside.py",
        ),
        *LIBRARY,
    )

    def check(  # type: ignore[override]  # it asks for one more table
        self,
        breaks: Table[GraphBreak],
        *,
        setup: Table[SetupBreak],
        frames: Table[Frame],
        trees: Table[GuardTree],
        recompiles: Table[Recompile],
        graphs: Table[FxGraph],
    ) -> Iterator[Finding]:
        """Yield one finding per line, with the float that is to be kept otherwise first."""
        found = sites(breaks, self.families, setup=setup)
        look_at_flags(found, recompiles, trees)
        look_at_sides(found, breaks, trees, graphs)
        states = recompiles.derived(float_states)
        for site in found:
            site.state = state_at(site, states)
            site.varies = varies_or_broadcasts(trees) or recompiles.derived(_sizes_vary)
        yield from self.each(found, breaks, frames, trees)

    def told(self, site: BreakSite) -> BreakData:
        """Return the data, with the float that the code of the file keeps, and the flag."""
        data = super().told(site)
        flag = kept_flag(site)
        if not (site.state or flag or site.varies or site.inside or site.known):
            return data
        return BranchData(
            **data.model_dump(),
            state=site.state,
            flag=flag,
            sizes_vary=site.varies,
            inside=site.inside,
            known=site.known,
        )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Tell the break; what a float that is kept costs has a finding of its own."""
        data = self.data_of(finding)
        if isinstance(data, BreakData) and state_of(data):
            yield from (graph_break(line.file, line.line) for line in data.stack)
            return
        yield from super().causes(finding)

    def what(self, site: BreakSite) -> str:
        """Say what the branch looks at."""
        if value_of(site):
            return "a branch depends on a size or a number that comes from a tensor's values"
        return "a branch depends on a tensor's value"

    def graded(self, site: BreakSite) -> Severity:
        """Grade all alike."""
        del site
        return self.severity

    def identity(self, site: BreakSite) -> tuple[str, ...]:
        """Return the line."""
        return site.identity
