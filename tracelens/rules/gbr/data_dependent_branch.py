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
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import RangeCheck, Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story, graph_break
from tracelens.rules.gbr._branches import (
    asks_empty,
    asserted,
    branches,
    computes,
    condition,
    eager_only,
    is_check,
    leaves_early,
    may_check,
    may_divide,
    selected,
)
from tracelens.rules.gbr._kept_flags import PYTHON_FLAG, flag_of, kept_flag
from tracelens.rules.gbr._rounds import round_of, what_goes_round
from tracelens.rules.gbr._site_rule import LIBRARY, BreakData, SiteRule, own
from tracelens.rules.gbr._values import value_of

__all__ = ["DataDependentBranch"]


def _between(data: BreakData) -> bool:
    """Whether the branch is best taken by Python, between calls of compiled functions."""
    loops = data.code.startswith("while ")
    return (data.leaves or loops or leaves_early(data)) and data.function.isidentifier()


def _parts(data: BreakData) -> str:
    """Say what to compile, in place of what goes round or leaves early."""
    if data.code.startswith("while "):
        return (
            f"Compile what the loop does in each round, in a function of its own, instead of "
            f"`{data.function}` itself: Python then decides between compiled calls. Where a round "
            "is a few small operators, it is not faster than without compiling."
        )
    return (
        f"Compile what `{data.function}` calls, instead of `{data.function}` itself: Python then "
        "branches between compiled calls. Single layers are not faster compiled, each by itself: "
        f"where it calls no more than those, leave `{data.function}` uncompiled."
    )


def _state(data: BreakData) -> str:
    return data.state if isinstance(data, DataDependentBranch.Data) else ""


def _may_cond(data: BreakData) -> bool:
    """Whether ``torch.cond`` is known to work: in training the sides' gradients must agree, too.

    With a size of 1 it raises where one side keeps the strides of a view and the other does not.
    """
    varies = isinstance(data, DataDependentBranch.Data) and data.sizes_vary
    plain = not (is_check(data) or _state(data) or flag_of(data))
    return bool(data.inference and computes(data) and plain and not varies)


def _first(data: BreakData) -> str:
    """Say what comes before the selection: a float that is kept, and the loop that calls it."""
    said = []
    if name := _state(data):
        said.append(
            f"First keep `{name}` in a 0-d tensor, without `torch.tensor()` around it where it is "
            f"read, and where the code changes it assign a new one, `{name} = {name} + ...`: it is "
            "a float that compiled code computes with and that changes, and with the break gone "
            "torch may raise `Guard failed on the same frame it was created`."
        )
    if name := round_of(data):
        said.append(
            f"{'Then compile' if said else 'Compile'} `{name}` instead of what calls it: "
            f"{what_goes_round(data)}. In it:"
        )
    elif said:
        said.append("Then:")
    return f"{' '.join(said)} " if said else ""


def _select(data: BreakData) -> str:
    """Say how to select, and what it does to gradients."""
    first = _first(data)
    said = first + (
        "If it computes, as `torch.clamp` does: compute both sides and select."
        if is_check(data)
        else "If both sides compute tensors, and cheaply: compute both and select."
    )
    said = f"{first}{said[len(first)].lower()}{said[len(first) + 1 :]}" if first else said
    if not may_divide(data):
        return said
    return (
        f"{said} In a side that divides by what may be 0, or takes its root or logarithm, put "
        "another number in its place first: the gradient of a side that is not taken is NaN there."
    )


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

    class Data(BreakData):
        """A line that branches."""

        #: A float of the program's, such as ``self.time``, that compiled code reads and changes.
        state: str = ""
        #: A buffer whose value alone it asks for, such as ``self.initialized``.
        flag: str = ""
        #: Whether sizes vary from call to call, or one is 1: two sides may differ in layout then.
        sizes_vary: bool = False

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
                f"{_first(data)}Let the compiled code check the value. The message is needed: "
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
            lambda data: (
                f"{_first(data)}If the branch only raises, let the compiled code check the value. "
                "The message is needed: Inductor drops the check without one."
            ),
            when="an `if` in code of your own that raises, or whose condition looks like a check",
            applies=lambda data: branches(data, "if") and is_check(data) and bool(asserted(data)),
            code=asserted,
            since="2.1",
            basis="tested",
            proof="tests/advice/GBR002/raise-in-graph.py",
        ),
        Remedy(
            "check-in-eager",
            lambda data: (
                "Or leave the check to runs that are not compiled."
                if not computes(data)
                else "Or, if it only raises, leave the check to runs that are not compiled."
            ),
            when="an `assert`, or an `if` that raises or whose condition looks like a check, in "
            "code of your own",
            applies=lambda data: (
                branches(data, "assert") or (branches(data, "if") and is_check(data))
            ),
            code=eager_only,
            since="2.3",
            basis="tested",
            proof="tests/advice/GBR002/check-in-eager.py",
        ),
        Remedy(
            "compile-parts",
            _parts,
            when="a `while`, a branch in a loop, one that Dynamo cannot resume from, in the "
            "function that was given up, or that returns from a `forward`; code of your own",
            applies=lambda data: own(data) and _between(data),
            basis="tested",
            proof="tests/advice/GBR002/compile-parts.py",
        ),
        Remedy(
            "select",
            _select,
            when="an `if` in code of your own that may compute",
            applies=lambda data: computes(data) and not flag_of(data),
            code=selected,
            basis="tested",
            proof="tests/advice/GBR002/select.py",
        ),
        Remedy(
            "cond",
            "Let the compiled code branch, where both sides are expensive: both are functions of "
            "the same tensors, change none of them, and return new tensors of the same shape and "
            "layout.",
            when="an `if` in code of your own that is no check, gradients are off, and no input's "
            "size is 1, or was another one",
            applies=_may_cond,
            code=lambda data: f"torch.cond({condition(data)}, if_true, if_false, (x,))",
            since="2.3",
            basis="tested",
            proof="tests/advice/GBR002/cond.py",
        ),
        Remedy(
            "may-raise-in-graph",
            "If the branch only raises, let the compiled code check the value. The message is "
            "needed: Inductor drops the check without one.",
            when="an `if` in code of your own that may be a check, or may compute",
            applies=lambda data: (
                branches(data, "if")
                and may_check(data)
                and bool(asserted(data))
                and not _state(data)
            ),
            code=asserted,
            since="2.1",
            basis="tested",
            proof="tests/advice/GBR002/may-raise-in-graph.py",
        ),
        Remedy(
            "select-unseen",
            "Where the branch computes, compute both sides and select with `torch.where`, or make "
            "both of them functions and let `torch.cond` choose.",
            when="the log does not show the line, and it is in no package",
            applies=lambda data: not (data.code or data.package),
            proof="https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html",
        ),
        Remedy(
            "check-outside",
            "If the value is known before the compiled function is called, or needed after it "
            "alone, check it there.",
            when="code of your own",
            applies=lambda data: own(data) and not (data.leaves or _between(data) or flag_of(data)),
            basis="tested",
            proof="tests/advice/GBR002/check-outside.py",
        ),
        *LIBRARY,
    )

    def check(  # a rule is passed the tables that it names
        self,
        breaks: Table[GraphBreak],
        *,
        setup: Table[SetupBreak],
        frames: Table[Frame],
        trees: Table[GuardTree],
        recompiles: Table[Recompile],
    ) -> Iterator[Finding]:
        """Yield one finding per line, with the float that is to be kept otherwise first."""
        found = sites(breaks, self.families, setup=setup)
        look_at_flags(found, recompiles, trees)
        states = recompiles.derived(float_states)
        for site in found:
            site.state = state_at(site, states)
            site.varies = varies_or_broadcasts(trees) or recompiles.derived(_sizes_vary)
        yield from self.each(found, breaks, frames, trees)

    def told(self, site: BreakSite) -> BreakData:
        """Return the data, with the float that the code of the file keeps, and the flag."""
        data = super().told(site)
        flag = kept_flag(site)
        if not (site.state or flag or site.varies):
            return data
        return self.Data(**data.model_dump(), state=site.state, flag=flag, sizes_vary=site.varies)

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Tell the break; what a float that is kept costs has a finding of its own."""
        data = self.data_of(finding)
        if isinstance(data, BreakData) and _state(data):
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
