"""RCP019 training-flag."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.experiment import EXPECTED
from tracelens.frames import Frame
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules.rcp._changes import groups
from tracelens.rules.rcp._data import RecompileRule
from tracelens.rules.rcp._tell import tell

__all__ = ["TrainingFlag"]


class TrainingFlag(RecompileRule):
    """A module was switched between training and evaluation: one more entry, expected.

    ## Why it matters
    ``model.eval()`` turns off dropout and changes batch norm, so the code is another. Each of the
    two modes is compiled once, and from then on both are there.

    ## What it looks like
    The flag of a module is part of the guards:

        [0/1] [__recompiles] Recompiling function forward in /home/ana/proj/model.py:12
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: self._modules['drop'].training == True

    ## When it is harmless
    Always, once per function: switching back and forth uses the two entries. More than that means
    that modules of the model are switched one by one, which is a remark.

    ## What to do
    Nothing. Switch the whole model, not parts of it.

    ## How a live run confirms it
    Further switches do not recompile.

    ## See also
    RCP010 (grad mode, which fails first where validation runs under ``no_grad``).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP019"
    name = "training-flag"
    severity = Severity.NONE
    unconfirmable = EXPECTED

    remedies = (
        Remedy(
            "whole-model",
            "Switch the whole model, with `model.train()` and `model.eval()`.",
            when="parts are switched",
            applies=lambda data: data.most > 1,
            basis="tested",
            proof="tests/advice/RCP019/whole-model.py",
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
        """Yield one note per function that the switch reached first."""
        for group in groups(self.code, recompiles, limits, by_function=True):
            once = group.most == 1
            yield tell(
                self,
                group,
                frames,
                trees,
                title=f"`{group.history.function}` was compiled for training and for evaluation: "
                "expected"
                if once
                else f"parts of `{group.history.function}` are switched to evaluation one by one",
                message=f"{group.cause.what} changed: {group.times}. "
                + ("Both modes are compiled now." if once else "Two modes of one model need one."),
                severity=Severity.INFO,
                harmless="each of the two modes needs an entry" if once else None,
            )
