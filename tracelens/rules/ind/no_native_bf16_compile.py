"""IND022 no-native-bf16-compile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.warnings import TorchWarning
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import few

__all__ = ["NoNativeBf16Compile"]


class NoNativeBf16Compile(Rule):
    """The GPU has no bfloat16 arithmetic, so Inductor leaves bfloat16 graphs to eager mode.

    ## Why it matters
    Nothing of such a graph is compiled: it runs operator by operator, and each operator emulates
    bfloat16. ``torch.compile`` costs its time and brings nothing.

    ## What it looks like
    A warning, printed without any setting, torch 2.5 and later:

        /home/ana/venv/lib/python3.11/site-packages/torch/_inductor/compile_fx.py:3152: UserWarning: Tesla T4 does not support bfloat16 compilation natively, skipping
          warnings.warn(

    ## When it is harmless
    Where such graphs hardly matter for the step. Torch says it once per device, whatever the number
    of graphs.

    ## What to do
    Use float16 on GPUs before Ampere (compute capability 7.x and below), with a gradient scaler in
    training, or another GPU.

    ## How a live run confirms it
    The same step in float16: confirmed when the warning is gone and the step is faster.

    ## See also
    IND011 (casts), ONE009 (bfloat16 on a CPU without it).
    """  # noqa: E501 -- the excerpt is a line of a log

    code = "IND022"
    name = "no-native-bf16-compile"
    severity = Severity.WARNING
    moved_by: ClassVar = {"warnings.topic": {"no-native-bf16"}}
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """The device without bfloat16."""

        device: str
        warnings: int

    remedies = (
        Remedy(
            id="float16",
            text="Use float16 on this device; in training with a gradient scaler.",
            code='with torch.autocast("cuda", torch.float16): model(x)',
            basis="untestable",
            proof="needs a GPU without bfloat16",
        ),
    )

    def check(self, *, warnings: Table[TorchWarning]) -> Iterator[Finding]:
        """Yield one finding per device."""
        devices: dict[str, list[Seen[TorchWarning]]] = {}
        for row in warnings:
            if row.record.topic == "no-native-bf16":
                devices.setdefault(row.record.subject or "the device", []).append(row)
        for device, rows in devices.items():
            data = self.Data(device=device, warnings=sum(row.count for row in rows))
            yield self.finding(
                device,
                title=f"bfloat16 graphs are not compiled on {device}",
                message="Graphs with bfloat16 inputs or outputs run in eager mode: the device has "
                "no bfloat16 arithmetic.",
                count=sum(row.count for row in rows),
                evidence=[row.quote() for row in few(rows)],
                advice=self.advise(data),
                data=data,
            )
