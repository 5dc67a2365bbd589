"""RCP014 rank-mismatch."""

from __future__ import annotations

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import TensorMismatch
from tracelens.remedies import Remedy
from tracelens.rules.rcp._changes import Group
from tracelens.rules.rcp._data import RecompileData
from tracelens.rules.rcp._lost import MEND_BREAK
from tracelens.rules.rcp._tensor_rule import TensorRule

__all__ = ["RankMismatch"]


def _is_within_library(data: RecompileData) -> bool:
    """Whether a library calls the function: its user does not hold the tensor."""
    return data.is_of_library and not user_code.is_torch_wrapper(data.file)


class RankMismatch(TensorRule):
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
    by_caller = True
    name = "rank-mismatch"
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:ranks",
        confirms="flattened before the call, nothing is compiled again",
        refutes="it is compiled again all the same",
        leaves_open="the log does not tell the numbers of dimensions",
    )

    remedies = (
        MEND_BREAK,
        Remedy(
            "one-rank",
            "Give the tensor one number of dimensions before the compiled function, by "
            "`unsqueeze` or `flatten`.",
            when="the function is the program's, or gets what the program passes",
            applies=lambda data: not _is_within_library(data),
            basis="tested",
            proof="tests/advice/RCP014/one-rank.py",
        ),
        Remedy(
            "raise-limit",
            "The library calls it with all of these numbers of dimensions: raise the limit, and "
            "each is compiled once.",
            when="the function is a library's, and used up its entries",
            applies=lambda data: _is_within_library(data) and data.is_hit,
            setting=lambda data: f"torch._dynamo.config.recompile_limit = {data.limit * 8}",
            since="2.7",
            basis="tested",
            proof="tests/advice/RCP001/raise-limit.py",
        ),
        Remedy(
            "nothing",
            "The library calls it with all of these numbers of dimensions, and each is compiled "
            "once: there is nothing to change, unless more of them come with each call.",
            when="the function is a library's, and has entries left",
            applies=lambda data: _is_within_library(data) and not data.is_hit,
            basis="untestable",
            proof="it asks for no change",
        ),
    )

    title = "`{function}` gets `{source}` with {values} dimensions"

    def harmless(self, group: Group, trees: Table[GuardTree]) -> str | None:
        """Leave out a layer of a library that is used twice, where breaks left it by itself."""
        package = user_code.package(group.history.file)
        if package and group.history.frame != "0" and len(group.steps) == 1:
            return f"layers of `{package}` are compiled one by one, and two ranks need two entries"
        return super().harmless(group, trees)

    def message(self, group: Group, check: TensorMismatch) -> str:
        """Say what differed."""
        return f"Each number of dimensions of `{check.source}` needs an entry: {group.times}."
