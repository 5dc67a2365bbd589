"""RCP026 closure-or-partial-contents."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracelens.dynamo.recompile_causes import is_captured
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import IdentityCheck, Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules.rcp._changes import Group, groups
from tracelens.rules.rcp._data import RecompileRule
from tracelens.rules.rcp._tell import listed, tell

__all__ = ["ClosureOrPartialContents"]

#: Where torch itself names the variable, behind the guard (2.13).
_NAMED = re.compile(r'guard on "(\w{1,80})"')
#: Where a module keeps what it calls before or after ``forward``.
_HOOKS = re.compile(r"_hooks\[")


class ClosureOrPartialContents(RecompileRule):
    """A value that a function captured, in its closure or as a default, differs between calls.

    ## Why it matters
    A function that is passed to compiled code, or decorated, brings along the values that it
    captured. They are guarded like arguments, but nobody sees them in the call. A new function per
    call with another string in it makes one entry each.

    ## What it looks like
    The guarded value is a cell of a closure, or a default:

        [0/1] [__recompiles] Recompiling function through in /home/ana/proj/model.py:60
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: function.__closure__[0].cell_contents == 'a'

    A hook is such a function: that a module holds it makes the guard long.

    ## When it is harmless
    One recompile: an integer is a symbol afterwards, and two functions that take turns need two
    entries. Where a decorator's closure holds the function that it wraps, the entries of several
    models are told apart by it: a note, since RCP030 tells what they share.

    ## What to do
    Pass the value as an argument, numbers as tensors. What a hook needs it can hold as a tensor.

    ## How a live run confirms it
    The same calls with the value passed as an argument: the recompiles are gone.

    ## See also
    RCP030 (models that share a decorator), RCP004, RCP006, RCP008.
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP026"
    name = "closure-or-partial-contents"
    severity = Severity.INFO
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:closures",
        confirms="the number as an argument, nothing is compiled again",
        refutes="it is compiled again all the same",
    )

    remedies = (
        Remedy(
            "hold-tensor",
            "A hook is called by the module, and takes no further argument: let it hold a tensor "
            "in place of the number (`torch.tensor([n])`), and index or compute with that. A "
            "tensor that a function holds is an input of the graph.",
            when="a number that a hook of a module holds",
            applies=lambda data: bool(_HOOKS.search(data.source)) and _are_numbers(data.values),
            basis="tested",
            proof="tests/advice/RCP026/hold-tensor.py",
            edits=True,
        ),
        Remedy(
            "pass-argument",
            "Pass the value as an argument; a number as a tensor.",
            when="the program's own function, other than a hook",
            applies=lambda data: not _HOOKS.search(data.source),
            basis="tested",
            proof="tests/advice/RCP026/pass-argument.py",
        ),
    )

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        frames: Table[Frame],
        trees: Table[GuardTree],
        limits: Table[RecompileLimit],
    ) -> Iterator[Finding]:
        """Yield one finding per function and value that is held."""
        for group in groups(self.code, recompiles, limits):
            again = group.most > 1
            yield tell(
                self,
                group,
                frames,
                trees,
                title=f"{_held(group)} holds, differs between calls",
                message=f"It was {_values(group)}, and then another value: {group.times}."
                + ("" if again else " Once: expected."),
                severity=Severity.INFO,
                harmless=None if again else "two values need two entries",
            )
        for group in groups("RCP030", recompiles, limits):
            check = group.first.check
            if isinstance(check, IdentityCheck) and is_captured(check.source):
                yield tell(
                    self,
                    group,
                    frames,
                    trees,
                    title=f"the function that `{group.history.function}` wraps differs: expected",
                    message=f"{group.cause.what} tells the models apart that share it: "
                    f"{group.times}. RCP030 tells what they share.",
                    harmless="each model needs an entry",
                    is_avoidable=False,
                )


def _held(group: Group) -> str:
    """Return what is held, and by what: by their names where torch tells the variable's."""
    comment = group.first.failure.comment if group.first.failure else None
    found = _NAMED.search(comment.hint) if comment and comment.function else None
    if comment is None or found is None:
        return f"{group.cause.what}, which a function"
    return f"`{found[1]}`, which `{comment.function}`"


def _are_numbers(values: tuple[str, ...]) -> bool:
    return bool(values) and all(one.lstrip("-").replace(".", "", 1).isdecimal() for one in values)


def _values(group: Group) -> str:
    is_object = isinstance(group.first.check, IdentityCheck)
    return "one object" if is_object else listed(group.values)
