"""RCP022 optimizer-hyperparameter."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment, Knob
from tracelens.frames import Frame
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules.rcp._changes import groups
from tracelens.rules.rcp._data import RecompileRule
from tracelens.rules.rcp._tell import listed, tell

__all__ = ["OptimizerHyperparameter"]


class OptimizerHyperparameter(RecompileRule):
    """A compiled optimizer is compiled again when its learning rate or the like changes.

    ## Why it matters
    A Python float in ``param_groups`` is a constant of the compiled step. With a scheduler it
    changes in every step or epoch; compiling an optimizer step takes seconds for every such change,
    and the ninth value makes it run eagerly.

    ## What it looks like
    The guard that fails is on an entry of ``param_groups``, or on a step count in ``state``:

        [7/1] [__recompiles] Recompiling function step in\
 /home/ana/venv/lib/python3.11/site-packages/torch/optim/adam.py:214
        [7/1] [__recompiles]     triggered by the following guard failure(s):
        [7/1] [__recompiles]     - 7/0: self.param_groups[0]['lr'] == 0.0006

    ## When it is harmless
    When it happens once and the number is a symbol from then on: one compilation, and a remark.

    ## What to do
    Keep the learning rate in a tensor: torch 2.2 and later accept it, and most schedulers keep it.
    Or compile the inner update only, and leave the hyperparameters outside.

    ## How a live run confirms it
    The same run with ``lr=torch.tensor(lr)``: the recompile is gone.

    ## See also
    RCP005 (floats elsewhere), RCP007 (counters), RCP001.
    <https://pytorch.org/tutorials/recipes/compiling_optimizer_lr_scheduler.html>
    """

    code = "RCP022"
    name = "optimizer-hyperparameter"
    severity = Severity.WARNING
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:hyperparameters",
        confirms="with the learning rate in a tensor, nothing is compiled again for a value",
        refutes="it is compiled again all the same",
    )

    remedies = (
        Remedy(
            "tensor-lr",
            "Keep the learning rate in a tensor. Where lines of your own change it, fill that, "
            "`group['lr'].fill_(new)`: a float that is written there would take its place.",
            when="the learning rate",
            applies=lambda data: data.source.endswith("['lr']"),
            code="lr=torch.tensor(1e-3)",
            since="2.2",
            basis="tested",
            proof="tests/advice/RCP022/tensor-lr.py",
            knob=Knob("the learning rate in a tensor", optimizer={"lr": "tensor"}),
        ),
        Remedy(
            "fill-lr",
            "ReduceLROnPlateau of torch 2.9 and older puts a float there again: write the "
            "tensor yourself, with `group['lr'].fill_(lr)`.",
            when="the learning rate",
            applies=lambda data: data.source.endswith("['lr']"),
            until="2.9",
            basis="untestable",
            proof="newer versions keep the tensor",
        ),
        Remedy(
            "outside",
            "Compile the model and not the optimizer, while this number changes.",
            when="another hyperparameter",
            applies=lambda data: not data.source.endswith("['lr']"),
            proof="https://docs.pytorch.org/tutorials/recipes/compiling_optimizer.html",
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
        """Yield one finding per optimizer and hyperparameter."""
        for group in groups(self.code, recompiles, limits):
            name, again = group.cause.what, group.most > 1
            yield tell(
                self,
                group,
                frames,
                trees,
                title=f"the compiled optimizer is compiled again when {name} changes"
                if again
                else f"the compiled optimizer was compiled once more when {name} changed",
                message=f"{name} was {listed(group.values)} and then another value: {group.times}. "
                + ("A Python number is a constant of the step." if again else "Once, so far."),
                severity=Severity.WARNING if again else Severity.INFO,
            )
