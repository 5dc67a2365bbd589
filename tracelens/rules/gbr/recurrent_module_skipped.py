"""GBR019 recurrent-module-skipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite, sites
from tracelens.experiment import Experiment, Knob
from tracelens.logs._checks import TensorMismatch
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules.gbr._before import convolved, in_function, leads_to
from tracelens.rules.gbr._site_rule import BreakData, SiteRule, named
from tracelens.rules.gbr._stories import PACKING, recurrent

if TYPE_CHECKING:
    from tracelens.dynamo.setup_breaks import SetupBreak
    from tracelens.evidence import Table
    from tracelens.frames import Frame
    from tracelens.logs.graph_breaks import GraphBreak
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.guards import GuardTree
    from tracelens.logs.recompiles import Recompile

__all__ = ["RecurrentModuleSkipped"]


def _is_of_length(record: Recompile) -> bool:
    """Whether a size other than the first, of batches, was another one."""
    failed = (one.check for one in record.failures)
    sizes = (one for one in failed if isinstance(one, TensorMismatch) and one.what == "size")
    return any(one.index for one in sizes)


class RecurrentData(BreakData):
    """A line that calls a recurrent module."""

    #: The part of the module whose convolutions are in the graph before it.
    before: str = ""


class RecurrentModuleSkipped(SiteRule):
    """An RNN, GRU or LSTM module made Dynamo give up the whole function.

    ## Why it matters
    Dynamo does not trace torch's recurrent modules. Where it gives up the function that calls one,
    that runs eagerly as a whole: there is no graph, no generated code and no guard, however much
    else it computes. Elsewhere the graph is cut there, which costs less: in a package, information.

    ## What it looks like
        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/lstm_lm.py:11
        [0/0] [__graph_breaks] Graph Break Reason: Attempted to wrap RNN, GRU, or LSTM
        [0/0] [__graph_breaks]   Explanation: Dynamo does not support RNN, GRU, or LSTM.

    ## When it is harmless
    Where the recurrence is nearly all of the work: the eager module calls a tuned library, and
    both ways below were measured to be slower on a CPU.

    ## What to do
    Compile the parts around the recurrence. Where the graph is cut alone, in inference, let Dynamo
    trace it, and compare the times.

    ## How a live run confirms it
    The same calls with ``torch._dynamo.config.allow_rnn``: the function has a graph.

    ## See also
    GBR009 (functions that are not traced), ONE001 (how oneDNN runs it).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0014.html>
    """

    code = "GBR019"
    name = "recurrent-module-skipped"
    severity = Severity.WARNING
    experiment = Experiment(
        Knob("recurrent modules are compiled", config={"torch._dynamo.config.allow_rnn": True}),
        micro="graph_break:recurrent",
    )
    Data = RecurrentData
    families: ClassVar[frozenset[str]] = frozenset({"recurrent"})
    remedies = (
        Remedy(
            "compile-before",
            lambda data: (
                f"Compile `{data.before}`, which holds the convolutions, in place of what is "
                "compiled now: what calls it runs eagerly then, and breaks no graph. `model` "
                "stands for the module."
            ),
            when="the whole function was given up, and before that a part of the module with "
            "convolutions is in its graph",
            applies=lambda data: bool(data.skipped and data.before),
            code=lambda data: f"model.{data.before} = torch.compile(model.{data.before})",
            basis="tested",
            proof="tests/advice/GBR019/compile-before.py",
        ),
        Remedy(
            "compile-around",
            "Not the function that calls it, but what comes before and after it, where that takes "
            "most of the time: put each into one function or module, and compile these by "
            "`torch.compile(part)`. Layers of torch's that are compiled one by one share the eight "
            "entries of one function.",
            when="the whole function was given up: what comes before and after it, too",
            applies=lambda data: bool(data.skipped and not data.before),
            basis="tested",
            proof="tests/advice/GBR019/compile-around.py",
        ),
        Remedy(
            "allow-rnn",
            "Let Dynamo trace the recurrent module, and compare the times: where the recurrence is "
            "most of the work, that took up to a quarter longer on a CPU.",
            # A whole function took 1.4 times as long then; with gradients, minutes to compile.
            when="the graph is cut alone, in inference as far as guards say, no packed sequences, "
            "and no length that was seen to change",
            applies=lambda data: not data.skipped and data.inference is not False,
            setting="torch._dynamo.config.allow_rnn = True",
            since="2.4",
            proof="https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0014.html",
            knob=experiment.knob,
        ),
    )

    def check(  # type: ignore[override]  # it asks for one more table
        self,
        breaks: Table[GraphBreak],
        *,
        setup: Table[SetupBreak],
        frames: Table[Frame],
        trees: Table[GuardTree],
        recompiles: Table[Recompile],
        graphs: Table[FxGraph],
    ) -> Iterator[Finding]:
        """Yield one finding per line; of packed sequences, tracing it makes more breaks.

        Traced, it is unrolled over its time steps, anew for each length.
        """
        varied = any(_is_of_length(row.record) for row in recompiles)
        packed = {
            (site.line.file, site.line.function)
            for site in sites(breaks)
            if named(site).rpartition(".")[2] in PACKING
        }

        for finding in super().check(
            breaks, setup=setup, frames=frames, trees=trees, recompiles=recompiles
        ):
            finding = self._with_part(finding, graphs)  # noqa: PLW2901
            where = finding.where
            if not varied and (where is None or (where.file, where.function) not in packed):
                yield finding
                continue
            advice = tuple(one for one in finding.advice if one.id != "allow-rnn")
            yield finding.model_copy(update={"advice": advice})

    def told(self, site: BreakSite) -> BreakData:
        """Return what the finding about a line holds."""
        return RecurrentData(**dict(super().told(site)))

    def _with_part(self, finding: Finding, graphs: Table[FxGraph]) -> Finding:
        """Return it with the part of the module that is worth compiling by itself."""
        data = self.data_of(finding)
        if not isinstance(data, RecurrentData) or not data.skipped:
            return finding
        if not (before := convolved(data, graphs)):
            return finding
        data = data.model_copy(update={"before": before})
        return finding.model_copy(
            update={"data": {**finding.data, "before": before}, "advice": self.advise(data)}
        )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Cause the breaks where sequences are packed, and those of what need not be compiled."""
        yield from super().causes(finding)
        data = self.data_of(finding)
        if isinstance(data, RecurrentData):
            yield from recurrent(data.file, data.function)
            if data.before and (caller := leads_to(data)):
                yield in_function(caller.file, caller.function)

    def what(self, site: BreakSite) -> str:
        """Say what was lost: a whole function, or one graph in place of two."""
        if site.skipped and site.resumed:
            rest = f"the rest of `{site.line.function}`"
            return f"a recurrent module keeps {rest} from being compiled"
        if site.skipped:
            return "a recurrent module keeps the whole function from being compiled"
        return "a recurrent module breaks the graph"

    def graded(self, site: BreakSite) -> Severity:
        """Grade the break: of a package, where the rest is compiled, it is little loss."""
        cut = not site.skipped and user_code.package(site.line.file)
        return Severity.INFO if cut else Severity.WARNING

    def identity(self, site: BreakSite) -> tuple[str, ...]:
        """Return what makes the id: the same whatever was lost."""
        return "a recurrent module keeps the whole function from being compiled", *site.identity
