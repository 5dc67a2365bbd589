"""RCP020 tensor-aliasing."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Aliasing, Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules.rcp._changes import groups
from tracelens.rules.rcp._data import RecompileRule
from tracelens.rules.rcp._tell import tell

__all__ = ["TensorAliasing"]


class TensorAliasing(RecompileRule):
    """Two arguments are the same tensor in some calls, and different tensors in others.

    ## Why it matters
    Code that was compiled for two tensors is wrong for one that is passed twice, where it writes to
    one of them. So it is guarded, and each case needs an entry.

    ## What it looks like
    Torch names the arguments that are one tensor:

        [0/1] [__recompiles] Recompiling function step in /home/ana/proj/model.py:49
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: Duplicate tensors found: ["a", "b"]

    ## When it is harmless
    The number of cases is small: one more entry, most often.

    ## What to do
    Pass different tensors always, or the same always: ``clone`` one of them.

    ## How a live run confirms it
    The same calls with a clone: the recompile is gone.

    ## See also
    RCP015 (memory layout), RCP008 (objects).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP020"
    name = "tensor-aliasing"
    severity = Severity.INFO
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:aliases",
        confirms="always two tensors, nothing is compiled again",
        refutes="it is compiled again all the same",
    )

    remedies = (
        Remedy(
            "clone",
            "Pass different tensors always: clone the one that is the same.",
            basis="tested",
            proof="tests/advice/RCP020/clone.py",
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
        """Yield one finding per function."""
        for group in groups(self.code, recompiles, limits, by_function=True):
            check = group.first.check
            names = f" ({check.names})" if isinstance(check, Aliasing) and check.names else ""
            yield tell(
                self,
                group,
                frames,
                trees,
                title=f"`{group.history.function}` gets one tensor as two arguments, in some calls",
                message="Arguments that were different tensors when the entry was compiled are "
                f"the same one{names}: {group.times}.",
            )
