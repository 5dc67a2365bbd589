"""CGR007 pending-backward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.warnings import TorchWarning
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity, Where
from tracelens.rules import Rule
from tracelens.words import few

__all__ = ["PendingBackward"]


class PendingBackward(Rule):
    """CUDA graphs take the slow path, because outputs of earlier calls wait for their backward.

    ## Why it matters
    While an output may still need its backward, its memory cannot be used again: each call is
    recorded behind the one before instead of replayed. Calls of a validation loop without
    ``torch.no_grad()`` never run a backward at all, so that memory grows and no call gets fast.

    ## What it looks like
    A Python warning, once per function. Up to torch 2.11 it reads ``pending, uninvoked backwards``:

        /home/ana/venv/lib/python3.11/site-packages/torch/_inductor/cudagraph_trees.py:2651: UserWarning: Unable to hit fast path of CUDAGraphs because outputs from a previous step still require backward. Ensure backward() is invoked or detach outputs. You may also call torch.compiler.cudagraph_mark_step_begin() before each model invocation.
          warnings.warn(

    ## When it is harmless
    Where several forward passes come before one backward on purpose: it happens in each step, and
    the warning is shown once.

    ## What to do
    Run inference and validation under ``torch.no_grad()``; detach outputs that are only logged;
    otherwise say where a step begins.

    ## How a live run confirms it
    The same loop under ``torch.no_grad()``: the warning is gone and the step gets faster.

    ## See also
    CGR006 (an output that was overwritten).
    <https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "CGR007"
    name = "pending-backward"
    severity = Severity.INFO
    moved_by: ClassVar = {"warnings.topic": {"pending-backward"}}
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """torch's warning, and how often it came."""

        warnings: int

    remedies = (
        Remedy(
            id="no-grad",
            text="Run without gradients what needs none.",
            code="with torch.no_grad(): y = model(x)",
            basis="tested",
            proof="tests/advice/CGR007/no-grad.py",
        ),
        Remedy(
            id="detach",
            text="Detach outputs that are only kept or logged.",
            basis="tested",
            proof="tests/advice/CGR007/detach.py",
        ),
        Remedy(
            id="functional",
            text="`torch.func.grad` and `grad_and_value` compute the gradients within the call, "
            "and what they return has a backward of its own where the parameters require "
            "gradients: pass them in detached.",
            code="params = {name: p.detach() for name, p in model.named_parameters()}",
            since="2.0",
            when="gradients are taken by `torch.func`",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.func.grad.html",
        ),
        Remedy(
            id="mark-step",
            text="Or mark where a step begins.",
            code="torch.compiler.cudagraph_mark_step_begin()",
            since="2.1",
            basis="tested",
            proof="tests/advice/CGR007/mark-step.py",
        ),
    )

    def check(self, *, warnings: Table[TorchWarning]) -> Iterator[Finding]:
        """Yield one finding: the warning does not say which calls it is about."""
        rows = [row for row in warnings if row.record.topic == "pending-backward"]
        if not rows:
            return
        place = rows[0].record
        own = user_code.distance(place.file) == 0
        data = self.Data(warnings=sum(row.count for row in rows))
        yield self.finding(
            "pending",
            title="CUDA graphs do not replay: outputs of earlier calls wait for their backward",
            message="A compiled function was called again while outputs of the step before could "
            "still need a backward, so that this call could not use their memory and was not "
            "replayed.",
            count=sum(row.count for row in rows),
            where=Where(file=place.file, line=place.line) if own and place.file else None,
            evidence=[row.quote() for row in few(rows)],
            advice=self.advise(data),
            data=data,
        )
