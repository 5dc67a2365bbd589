"""GBR016 random-or-numpy-state."""

from __future__ import annotations

from typing import ClassVar

from tracelens.dynamo.breaks import BreakSite
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.remedies import Remedy
from tracelens.report import Severity
from tracelens.rules.gbr._site_rule import LIBRARY, SiteRule, named, own

__all__ = ["RandomOrNumpyState"]

FILLED = "Tensor.random_"


class RandomOrNumpyState(SiteRule):
    """A generator of random numbers, of numpy, Python or torch, breaks the graph.

    ## Why it matters
    A graph must not depend on hidden state. Dynamo knows torch's default generator and leaves most
    others to Python: the graph ends where one is made, seeded or asked.

    ## What it looks like
    The class stands in the context, the method behind it:

        [1/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:21
        [1/0] [__graph_breaks] Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):
        [1/0] [__graph_breaks]
        [1/0] [__graph_breaks] Unsupported method call
        [1/0] [__graph_breaks]   Explanation: Dynamo does not know how to trace method `rand` of class `RandomState`
        [1/0] [__graph_breaks]
        [1/0] [__graph_breaks]   Developer debug context: call_method UserDefinedObjectVariable(RandomState) rand [] {}

    Making the generator and drawing from it are two breaks, at two lines.

    ## When it is harmless
    In set-up code that runs once.

    ## What to do
    Draw with torch, on the device of the data, or pass the numbers in.

    ## How a live run confirms it
    The same calls with ``torch.rand``: one graph less per call and line.

    ## See also
    GBR009 (functions that are not traced), GBR012 (all breaks).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0156.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "GBR016"
    name = "random-or-numpy-state"
    severity = Severity.INFO
    experiment = Experiment(
        UNCHANGED,
        confirms="with a number of torch, the break is gone and the step is faster",
        refutes="the break stays",
        leaves_open="the break is gone, and the step as slow: the break was cheap",
    )
    families: ClassVar[frozenset[str]] = frozenset({"random"})
    remedies = (
        Remedy(
            "randint",
            "Make the numbers instead of filling a tensor with them.",
            when="`Tensor.random_` in code of your own",
            applies=lambda data: data.name == FILLED and own(data),
            basis="tested",
            proof="tests/advice/GBR016/randint.py",
        ),
        Remedy(
            "torch-random",
            "Draw with torch's default generator, such as `torch.rand(())`, seeded by "
            "`torch.manual_seed`.",
            when="another generator, in code of your own",
            applies=lambda data: data.name != FILLED and own(data),
            basis="tested",
            proof="tests/advice/GBR016/torch-random.py",
        ),
        Remedy(
            "draw-before",
            "Or draw before the compiled function is called, and pass the numbers in as tensors.",
            when="another generator, in code of your own",
            applies=lambda data: data.name != FILLED and own(data),
            basis="tested",
            proof="tests/advice/GBR016/draw-before.py",
        ),
        *LIBRARY,
    )

    def what(self, site: BreakSite) -> str:
        """Name the generator and the method."""
        name = self.named(site)
        if name:
            return f"`{name}` breaks the graph"
        return "a generator of random numbers breaks the graph"

    def named(self, site: BreakSite) -> str:
        """Return the generator with its method, where the record has them."""
        cause = site.record.cause
        context = cause.context if cause is not None else None
        state = context.state if context is not None else ""
        name = (state or named(site)).removeprefix("None.")
        return name or (FILLED if "random_" in site.record.text else "")
