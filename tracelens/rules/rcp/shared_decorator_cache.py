"""RCP030 shared-decorator-cache."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.frames import Frame
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import IdentityCheck, Recompile, TypeCheck
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules.rcp._changes import Group, groups
from tracelens.rules.rcp._data import RecompileRule
from tracelens.rules.rcp._tell import tell

__all__ = ["SharedDecoratorCache"]


class SharedDecoratorCache(RecompileRule):
    """Several models share one compiled function, a decorator's, and its eight entries.

    ## Why it matters
    Libraries wrap every model's forward in one decorator. The inner function of the decorator is
    one code object, whatever it wraps: all models have one number in the log and one limit of eight
    entries. Sizes and modes that would be fine for one model use up the entries of all, and the
    reason that torch prints at the limit may be another model's.

    ## What it looks like
    A guard compares the code object of the wrapped function:

        [0/3] [__recompiles] Recompiling function wrapper in /home/ana/proj/generic.py:937
        [0/3] [__recompiles]     triggered by the following guard failure(s):
        [0/3] [__recompiles]     - 0/2: ___check_obj_id(func.__code__, 94296119093600),\
 type=<class 'code'>  # output = func(self, *args, **kwargs)  # proj/generic.py:943 in wrapper

    Or, where the models are arguments, the class of the first one.

    ## When it is harmless
    While there are entries left: a remark. The models have to be compiled apart anyway. It is a
    warning where Dynamo gave up on the function.

    ## What to do
    Compile the forward of each model, below the decorator, or blocks of it. Or raise the limit to
    the number of variants of all models together.

    ## How a live run confirms it
    The same calls with each model compiled on its own: each has its own number, and fewer entries.

    ## See also
    RCP001 and RCP029 (the limit), RCP008 (objects), RCP026 (the guard on a closure).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP030"
    name = "shared-decorator-cache"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM

    remedies = (
        Remedy(
            "compile-forward",
            "Compile each model below the decorator: its undecorated forward is a code object "
            "of its own.",
            basis="tested",
            proof="tests/advice/RCP030/compile-forward.py",
        ),
        Remedy(
            "raise-limit",
            "Or raise the limit to the number of variants of all models.",
            when="the number of models is known",
            applies=lambda data: not data.is_counter,
            setting="torch._dynamo.config.recompile_limit = 64",
            since="2.7",
            proof="https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html",
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
        """Yield one finding per function that is shared."""
        for group in groups(self.code, recompiles, limits, by_function=True):
            function, models = group.history.function, _models(group)
            full = "all" if group.entries == group.limit else f"{group.entries}"
            used = f"{full} of {group.limit} are used." if group.limit else f"{full} are used."
            yield tell(
                self,
                group,
                frames,
                trees,
                title=f"{models} models share the entries of `{function}`",
                message=f"`{function}` is one code object, whatever it wraps. The entries of all "
                f"models count together: {used}",
                severity=Severity.WARNING if group.is_hit else Severity.INFO,
                is_avoidable=False,
            )


def _models(group: Group) -> int:
    """Return how many wrapped functions the log tells apart, at least.

    What is compiled is none of those that the guards of one recompile name, but may be one that
    those of another name.
    """
    found: set[object] = set()
    most = 0
    for _, step in group.steps:
        named = {
            failure.check.object_id
            for failure in step.seen.record.failures
            if isinstance(failure.check, IdentityCheck | TypeCheck)
            and failure.check.source == getattr(step.check, "source", None)
        }
        found |= named
        most = max(most, len(named))
    return max(len(found), most + 1)
