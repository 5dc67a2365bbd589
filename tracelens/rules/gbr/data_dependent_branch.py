"""GBR002 data-dependent-branch."""

from __future__ import annotations

from typing import ClassVar

from tracelens.dynamo.breaks import BreakSite
from tracelens.dynamo.empties import leave_out
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.remedies import Remedy
from tracelens.report import Severity
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


def _select(data: BreakData) -> str:
    """Say how to select, and what it does to gradients."""
    said = (
        "If it computes, as `torch.clamp` does: compute both sides and select."
        if is_check(data)
        else "If both sides compute tensors, and cheaply: compute both and select."
    )
    if not may_divide(data):
        return said
    return (
        f"{said} In a side that divides by what may be 0, or takes its root or logarithm, put "
        "another number in its place first: the gradient of a side that is not taken is NaN there."
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
            "Let the compiled code check the value. The message is needed: Inductor drops the "
            "check without one.",
            when="an `assert` in code of your own, whose condition is a tensor",
            applies=lambda data: branches(data, "assert") and bool(asserted(data)),
            code=asserted,
            since="2.1",
            basis="tested",
            proof="tests/advice/GBR002/assert-in-graph.py",
        ),
        Remedy(
            "raise-in-graph",
            "If the branch only raises, let the compiled code check the value. The message is "
            "needed: Inductor drops the check without one.",
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
            applies=computes,
            code=selected,
            basis="tested",
            proof="tests/advice/GBR002/select.py",
        ),
        Remedy(
            "cond",
            "Let the compiled code branch, where both sides are expensive: both are functions of "
            "the same tensors, change none of them, and return new tensors of the same shape and "
            "layout.",
            # In training the sides' gradients must agree in strides, too, or torch raises.
            when="an `if` in code of your own that is no check, and gradients are off",
            applies=lambda data: bool(data.inference and computes(data) and not is_check(data)),
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
            applies=lambda data: branches(data, "if") and may_check(data) and bool(asserted(data)),
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
            applies=lambda data: own(data) and not (data.leaves or _between(data)),
            basis="tested",
            proof="tests/advice/GBR002/check-outside.py",
        ),
        *LIBRARY,
    )

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
