"""RCP009 type-guard-polymorphism."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile, TypeCheck
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules.rcp._changes import Group, groups
from tracelens.rules.rcp._data import BY_MODE, RecompileData, RecompileRule
from tracelens.rules.rcp._state import is_made_by_the_first_call
from tracelens.rules.rcp._structure import COMPILE_PARTS, STRUCTURE, structure_of, told
from tracelens.rules.rcp._tell import tell

__all__ = ["TypeGuardPolymorphism"]

_NONE = "NoneType"


def _is_optional(data: RecompileData) -> bool:
    """Whether it is None in some calls: there are two classes, and no blocks."""
    return any(one.kind == "type" and _NONE in f"{one.expected}{one.actual}" for one in data.guards)


def _has_classes(data: RecompileData) -> bool:
    return data.held != STRUCTURE and not _is_optional(data)


class TypeGuardPolymorphism(RecompileRule):
    """One compiled function runs objects of different classes, and has an entry for each class.

    ## Why it matters
    A block whose mixer, norm or activation differs from layer to layer is one code object with as
    many entries as classes, times the entries for sizes; a function has eight.

    ## What it looks like
    The guard compares the class of an object:

        [0/2] [__recompiles] Recompiling function forward in /home/ana/proj/model.py:12
        [0/2] [__recompiles]     triggered by the following guard failure(s):
        [0/2] [__recompiles]     - 0/1: ___check_type_id(self._modules['c1'], 94865264879952),\
 type=<class 'GCNConv'>  # x = self.c1(x)  # proj/model.py:13 in forward

    ## When it is harmless
    The number of classes is finite. One more class, or an argument that is ``None`` in some calls,
    is a note: ``None`` and a tensor are two entries, for each mode in which both come.

    ## What to do
    Nothing for two or three classes. Otherwise compile what calls the blocks, or one function per
    class.

    ## How a live run confirms it
    The same calls with the parent compiled: the entries are gone.

    ## See also
    RCP008 (objects), RCP006 (``None`` and flags), RCP001.
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP009"
    by_caller = True
    name = "type-guard-polymorphism"
    severity = Severity.INFO
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:classes",
        confirms="what calls the modules is compiled, and nothing is compiled again",
        refutes="it is compiled again all the same",
    )

    remedies = (
        COMPILE_PARTS,
        Remedy(
            "compile-caller",
            "Compile the code that calls the blocks, or one function per class.",
            when="no part of an object that differs from call to call, and nothing that is None",
            applies=_has_classes,
            basis="tested",
            proof="tests/advice/RCP009/compile-caller.py",
        ),
        Remedy(
            "isolate",
            "Or give every compiled function entries of its own: `isolate_recompiles=True` of "
            "torch.compile.",
            when="no part of an object that differs from call to call, and nothing that is None",
            applies=_has_classes,
            since="2.13",
            basis="tested",
            proof="tests/advice/RCP009/isolate.py",
        ),
        Remedy(
            "none-or-tensor",
            "No change is named: each of the two needs an entry. Look first at what else the "
            "entries of the function differ in.",
            when="it is None in some calls, and no part of an object that differs",
            applies=lambda data: data.held != STRUCTURE and _is_optional(data),
            basis="untestable",
            proof="it says what is known, and asks for no change",
            says=True,
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
        """Yield one finding per function and object."""
        for group in groups(self.code, recompiles, limits):
            if is_made_by_the_first_call(group):
                continue  # RCP031 tells it
            if walked := structure_of(group):
                yield told(self, group, walked, frames, trees)
                continue
            name = group.cause.what
            if _NONE in _classes(group):
                yield _optional(self, group, frames, trees)
                continue
            loud = group.most > 1 or group.is_crowded
            yield tell(
                self,
                group,
                frames,
                trees,
                title=f"`{group.history.function}` is compiled for each class: {name} differs",
                message=f"{name} was not what an entry was compiled for: {group.times}, one per "
                f"class." + ("" if loud else " Two classes do no harm."),
                severity=Severity.INFO,
                harmless=None if loud else "two classes need two entries",
            )


def _classes(group: Group) -> str:
    check = group.first.check
    return f"{check.held} {check.found}" if isinstance(check, TypeCheck) else ""


def _optional(
    rule: TypeGuardPolymorphism, group: Group, frames: Table[Frame], trees: Table[GuardTree]
) -> Finding:
    """Tell of a value that is None in some calls: two classes, however many entries have them."""
    name = group.cause.what.removeprefix("the type of ")
    loud = group.is_crowded and group.most > BY_MODE
    each = " That is two entries for each of what else they are for, such as gradients on or off."
    return tell(
        rule,
        group,
        frames,
        trees,
        title=f"`{group.history.function}` is compiled with {name} and without",
        message=f"{name} is None in some calls and not in others: {group.times}."
        + (each if group.most > 1 else " That is two entries."),
        severity=Severity.INFO,
        harmless=None if loud else "None and what is not need an entry each, and there it ends",
    )
