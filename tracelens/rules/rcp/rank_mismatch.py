"""RCP014 rank-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile, TensorMismatch
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules.rcp._changes import groups
from tracelens.rules.rcp._data import RecompileRule
from tracelens.rules.rcp._tell import tell

__all__ = ["RankMismatch"]


class RankMismatch(RecompileRule):
    """A function is called with tensors of different numbers of dimensions.

    ## Why it matters
    Dynamic shapes make sizes symbolic, but never the number of dimensions: each needs an entry.

    ## What it looks like
    The rank of the entry, and that of the call:

        [0/1] [__recompiles] Recompiling function block in /home/ana/proj/model.py:8
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: tensor 'x' rank mismatch. expected 2, actual 3

    ## When it is harmless
    Two ranks by design, with and without a batch: one more entry.

    ## What to do
    Give the tensor one rank at the boundary: ``unsqueeze`` a missing batch dimension.

    ## How a live run confirms it
    The same calls with one rank: the recompile is gone.

    ## See also
    RCP002 (sizes), RCP015 (strides).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP014"
    name = "rank-mismatch"
    severity = Severity.INFO
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:ranks",
        confirms="flattened before the call, nothing is compiled again",
        refutes="it is compiled again all the same",
        leaves_open="the log does not tell the numbers of dimensions",
    )

    remedies = (
        Remedy(
            "one-rank",
            "Give the tensor one number of dimensions before the compiled function, by "
            "`unsqueeze` or `flatten`.",
            basis="tested",
            proof="tests/advice/RCP014/one-rank.py",
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
        """Yield one finding per function and tensor."""
        for group in groups(self.code, recompiles, limits):
            check = group.first.check
            if not isinstance(check, TensorMismatch):
                continue
            function, source = group.history.function, str(check.source)
            yield tell(
                self,
                group,
                frames,
                trees,
                title=f"`{function}` gets `{source}` with {', '.join(group.values)} dimensions",
                message=f"Each number of dimensions of `{source}` needs an entry: {group.times}.",
                severity=Severity.INFO,
            )
