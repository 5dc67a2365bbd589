"""RCP009 type-guard-polymorphism."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules.rcp._changes import groups
from tracelens.rules.rcp._data import RecompileRule
from tracelens.rules.rcp._state import is_made_by_the_first_call
from tracelens.rules.rcp._structure import COMPILE_PARTS, STRUCTURE, structure_of, told
from tracelens.rules.rcp._tell import tell

__all__ = ["TypeGuardPolymorphism"]


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
    is a note.

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
            when="no part of an object that differs from call to call",
            applies=lambda data: data.held != STRUCTURE,
            basis="tested",
            proof="tests/advice/RCP009/compile-caller.py",
        ),
        Remedy(
            "isolate",
            "Or give every compiled function entries of its own: `isolate_recompiles=True` of "
            "torch.compile.",
            when="no part of an object that differs from call to call",
            applies=lambda data: data.held != STRUCTURE,
            since="2.13",
            basis="tested",
            proof="tests/advice/RCP009/isolate.py",
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
