"""RCP018 parameter-static-shape."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo.frames import Frame
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile, TensorMismatch
from tracelens.report import Advice, Finding, Severity
from tracelens.rules import Rule
from tracelens.rules.rcp._changes import groups, listed, tell

__all__ = ["ParameterStaticShape"]


#: Recompiles from which on the number of shapes is a matter of the limit.
CERTAIN = 3


class ParameterStaticShape(Rule):
    """One compiled function serves parameters of several shapes, and is compiled for each.

    ## Why it matters
    Sizes of parameters are held static: they do not become symbols when they change. A function
    that runs for every layer, such as an optimizer's or a quantizer's, makes one entry per shape of
    weight; the ninth shape makes it run eagerly.

    ## What it looks like
    A size of a parameter differs, and torch says what holds it:

        [0/1] [__recompiles] Recompiling function update in /home/ana/proj/optimizer.py:65
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: tensor 'layer._parameters['weight']' size mismatch at\
 index 0. expected 4, actual 5. Guard failed on a parameter, consider using\
 torch._dynamo.config.force_parameter_static_shapes = False to allow dynamism on parameters.

    ## When it is harmless
    When there are fewer shapes than entries, it costs start-up time only: a remark.

    ## What to do
    Compile the block around it instead of the function that every layer shares. Or raise the limit
    to the number of shapes, or let sizes of parameters become symbols.

    ## How a live run confirms it
    The same run with ``force_parameter_static_shapes = False``: recompiles fall to one.

    ## See also
    RCP002 (sizes of inputs), RCP007 (a layer's number), RCP001.
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP018"
    name = "parameter-static-shape"
    severity = Severity.WARNING
    experiment = Experiment(
        Knob(
            "sizes of parameters may be dynamic",
            config={"torch._dynamo.config.force_parameter_static_shapes": False},
        )
    )

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        frames: Table[Frame],
        trees: Table[GuardTree],
        limits: Table[RecompileLimit],
    ) -> Iterator[Finding]:
        """Yield one finding per function and parameter, whatever the dimension."""
        for group in groups(self.code, recompiles, limits):
            check = group.first.check
            name = str(check.source) if isinstance(check, TensorMismatch) else group.cause.what
            yield tell(
                self,
                group,
                frames,
                trees,
                title=f"`{group.history.function}` is compiled for every shape of `{name}`",
                message=f"A size of it was {listed(group.values)}: {group.times}. Sizes of "
                "parameters are held static.",
                severity=Severity.WARNING
                if group.most >= CERTAIN or group.is_crowded
                else Severity.INFO,
                advice=[
                    Advice(
                        text="Compile the block around it, not the function that all layers share."
                    ),
                    Advice(
                        text="Or let sizes of parameters become symbols.",
                        setting="torch._dynamo.config.force_parameter_static_shapes = False",
                        since="2.1",
                    ),
                ],
            )
