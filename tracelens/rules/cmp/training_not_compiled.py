"""CMP008 training-not-compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.onednn.runs import Spent
from tracelens.onednn.summary import quote
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import plural

if TYPE_CHECKING:
    from tracelens.inductor.library_calls import LibraryCall
    from tracelens.logs.graph_breaks import GraphBreak
    from tracelens.logs.onednn_verbose import PrimitiveExec
    from tracelens.logs.output_code import OutputModule

__all__ = ["TrainingNotCompiled"]

#: Backward executions, and their part of oneDNN's time, from which on the program trains.
MIN_COUNT = 10
MIN_SHARE = 0.2
MAX_QUOTED = 2
#: From this time of a backward primitive on, compiling changed nothing: with 20 ms each, a step of
#: a model over long sequences took 194 ms as it was, and 199 compiled; with some 10 ms, 82 and 84.
HEAVY_MS = 1


class TrainingData(FindingData):
    """What ran backward beside compiled code that has no backward."""

    #: Executions of backward primitives.
    backward: int
    #: Compiled graphs, all of them for inference.
    graphs: int
    #: Some backward ran for the first time behind the first compiled graph.
    is_after: bool
    #: Each takes so long that nothing is gained where compiled code calls it.
    is_heavy: bool = False


class TrainingNotCompiled(Rule):
    """The program trains, and all that was compiled is for inference.

    ## Why it matters
    A compiled module compiles its ``forward``. Another method of it, ``model.loss(x)``, is looked
    up on the module that was given to ``torch.compile``, and runs eagerly with all that it calls
    (``model.fit`` its ``self(x)``); so does a training step that goes on calling the uncompiled
    module. The training loop then gains nothing.

    ## What it looks like
    oneDNN ran backward primitives, and AOTAutograd made inference graphs only:

        # AOT ID: ['0_inference']
        onednn_verbose,v1,primitive,exec,cpu,convolution,jit:avx512_core,backward_weights,src:f32:a:blocked:aBcd16b::f0 wei:f32:a:blocked:ABcd16b16a::f0 bia:f32:a:blocked:a::f0 dst:f32:a:blocked:aBcd16b::f0,attr-scratchpad:user,alg:convolution_direct,mb4_ic16oc16_ih56oh56kh3sh1dh0ph1_iw56ow56kw3sw1dw0pw1,0.734131

    ## When it is harmless
    Where one model is trained eagerly on purpose, and another one, that is not trained, is compiled.
    Graphs without a convolution, beside one that is trained, are other code; and where the log has
    graph breaks, these say why a part of the model is not compiled: nothing is told then.
    Where all backward primitives ran before anything was compiled, the program may compile what it
    has trained: this is a note then. Less than a fifth of oneDNN's time is not told. Primitives of
    1 ms each take as long in compiled code, which calls them too: it is harmless.

    ## What to do
    Compile what the training step calls: the module in place, or the method that computes the loss.

    ## How a live run confirms it
    Not: the program has to be changed. Recorded again, it has a backward graph.

    ## See also
    CMP007 (nothing at all was compiled), GBR006 (functions that Dynamo gave up).
    <https://docs.pytorch.org/docs/stable/generated/torch.compile.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "CMP008"
    name = "training-not-compiled"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM
    Data = TrainingData
    remedies = (
        Remedy(
            "in-place",
            "Compile the module in place: each call of the module itself, as of `self(x)` in a "
            "method (`model.fit(...)`), or in a trainer that has the plain module, then runs "
            "compiled code. `torch.compile(model)` compiles calls of what it returns. Where the "
            "step calls another method instead, which computes by itself up to the loss, compile "
            "that one, and call what comes back: `loss_fn = torch.compile(model.loss)`. Do not set "
            "it as an attribute of the model, which could not be saved with `torch.save(model)`.",
            when="a program trains eagerly beside compiled inference, whose backward primitives "
            f"take less than {HEAVY_MS} ms each",
            applies=lambda data: not data.is_heavy,
            code="model.compile()  # instead of model = torch.compile(model)",
            since="2.2",
            basis="tested",
            proof="tests/advice/CMP008/in-place.py",
        ),
    )

    def check(
        self,
        modules: Table[OutputModule],
        execs: Table[PrimitiveExec],
        *,
        calls: Table[LibraryCall],
        breaks: Table[GraphBreak],
    ) -> Iterator[Finding]:
        """Yield one finding where no compiled graph is differentiated, and the program trains."""
        if len(breaks) or any(row.record.graph != "inference" for row in modules):
            return
        compiled = {row.record.task.primitive for row in calls}
        backward = [
            row for row in execs if row.record.is_training and row.record.primitive in compiled
        ]
        spent = Spent.of(execs)
        count = sum(row.count for row in backward)
        if count >= MIN_COUNT and spent.share(sum(row.ms for row in backward)) >= MIN_SHARE:
            yield self._finding(list(modules), backward, count, spent)

    def _finding(
        self,
        modules: list[Seen[OutputModule]],
        backward: list[Seen[PrimitiveExec]],
        count: int,
        spent: Spent,
    ) -> Finding:
        ms = sum(row.ms for row in backward)
        first = modules[0]
        data = TrainingData(
            backward=count,
            graphs=len(modules),
            is_after=any(
                row.first.input == first.first.input and row.first.line > first.first.line
                for row in backward
            ),
            is_heavy=ms >= count * HEAVY_MS,
        )
        before = (
            ""
            if data.is_after
            else " They ran before anything was compiled: where the program compiles what it has "
            "trained by then, that is as it should be."
        )
        heaviest = sorted(backward, key=lambda row: -row.ms)[:MAX_QUOTED]
        return self.finding(
            "training",
            title="training runs eagerly: all compiled graphs are for inference",
            message=f"oneDNN ran {plural(count, 'backward primitive')} ({spent.tell(ms)}), and no "
            "compiled graph has a backward: AOTAutograd made "
            f"{plural(data.graphs, 'inference graph')} and nothing else.{before}",
            severity=Severity.WARNING if data.is_after else Severity.INFO,
            confidence=Confidence.MEDIUM,
            count=count,
            evidence=[
                first.quote("a graph for inference"),
                *(quote(row, plural(row.count, "time")) for row in heaviest),
            ],
            cost=spent.cost(ms, "upper_bound"),
            advice=self.advise(data),
            data=data,
            harmless=f"they take {ms / count:.2g} ms each, in compiled code as well, which "
            "calls them too"
            if data.is_heavy
            else None,
        )
