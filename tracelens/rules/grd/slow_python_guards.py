"""GRD004 slow-python-guards."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.frames.guard_entries import GuardedEntry, by_function, root_line
from tracelens.logs.guards import Guard
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules import Rule
from tracelens.rules.grd._data import GuardData, guard_data
from tracelens.words import few

__all__ = ["SlowPythonGuards"]

#: Conditions of one entry that Python evaluates.
MANY = 50
KIND = "LAMBDA_GUARD"


class SlowPythonGuards(Rule):
    """Many conditions of a compiled function are checked by Python code.

    ## Why it matters
    Most guards are checked in C++. Relations between symbolic sizes, their ranges, and names that
    must be the same object are put together to a Python function, which is called each time: tenths
    of a microsecond per condition for what C++ does in nanoseconds.

    ## What it looks like
    One line per condition at the root of the tree:

        [0/1] [__guards] TREE_GUARD_MANAGER:
        [0/1] [__guards] +- RootGuardManager
        [0/1] [__guards] +- LAMBDA_GUARD: L['x'].size()[0] == L['y'].size()[0]  # return x + y  # proj/model.py:4 in f

    ## When it is harmless
    Up to 50 conditions per entry are not reported: models with dynamic sizes have 10 to 40. Torch
    2.8 and later can check them in C++ too, which is not the default in 2.13.

    ## What to do
    State relations once, with ``torch._check`` where the sizes are made, or pass fewer tensors of
    the same symbolic size; make sizes that never change static. Torch 2.8 and later: try the
    setting that moves them to C++.

    ## How a live run confirms it
    The same calls with the setting: the latency that torch prints, and the step.

    ## See also
    GRD001 (what the check takes), GRD002 (how many guards in all).
    <https://docs.pytorch.org/docs/main/user_guide/torch_compiler/compile/programming_model.reducing_guard_overhead.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "GRD004"
    name = "slow-python-guards"
    severity = Severity.INFO
    unconfirmable = "it takes another version of torch"

    Data = GuardData
    remedies = (
        Remedy(
            "cpp-guards",
            "Check the conditions in C++.",
            setting="torch._dynamo.config.enable_cpp_symbolic_shape_guards = True",
            since="2.8",
            proof="tests/advice/GRD004/cpp-guards.py",
            basis="tested",
        ),
        Remedy(
            "static-sizes",
            "Make sizes that never change static, so that they need no relation, with "
            "`torch._dynamo.mark_static`.",
            when="the first entry of a function, whose sizes became symbols without a change",
            applies=lambda data: data.is_first,
            since="2.1",
            proof="tests/advice/GRD004/static-sizes.py",
            basis="tested",
        ),
    )

    def check(self, entries: Table[GuardedEntry]) -> Iterator[Finding]:
        """Yield one finding per function."""
        many = [entry for entry in entries if _sizes(entry.record) > MANY]
        for group in by_function(many):
            yield self._finding(group)

    def _finding(self, group: list[Seen[GuardedEntry]]) -> Finding:
        worst = max(group, key=lambda entry: len(_conditions(entry.record)))
        entry, conditions = worst.record, _conditions(worst.record)
        us = entry.plausible_us
        took = f" The whole check took {us:.0f} us." if us else ""
        text = worst.text.split("\n")
        lines = [at for at, line in enumerate(text) if line.startswith(f"+- {KIND}: ")]
        data = guard_data(entry, len(conditions)).model_copy(
            update={"is_first": entry.id.endswith("/0")}
        )
        return self.finding(
            *entry.subject,
            title=f"Python checks {len(conditions)} conditions of {entry.label} at every call",
            message=f"They are relations and ranges of symbolic sizes, and names that must be the "
            f"same object; {entry.checks} guards are checked in all.{took}",
            count=len(group),
            where=entry.where,
            evidence=[worst.quote(f"entry {entry.id}", at=at) for at in few(lines)]
            or [worst.quote(f"{len(conditions)} of {KIND} below", at=root_line(worst))],
            advice=self.advise(data),
            data=data,
        )


def _sizes(entry: GuardedEntry) -> int:
    """Return how many are about sizes, which alone the advice can do something about."""
    return sum("()" in guard.expression for guard in _conditions(entry))


def _conditions(entry: GuardedEntry) -> list[Guard]:
    """Return the conditions at the root: those that one Python function checks."""
    guards = entry.tree.guards if entry.tree else ()
    return [guard for guard in guards if guard.kind == KIND and guard.depth == 0]
