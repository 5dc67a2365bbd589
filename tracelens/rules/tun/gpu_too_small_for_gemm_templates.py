"""TUN006 gpu-too-small-for-gemm-templates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.dynamo.run_facts import InRun
from tracelens.evidence import Table
from tracelens.logs.warnings import TorchWarning
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts

__all__ = ["GpuTooSmallForGemmTemplates"]

#: Lines quoted.
MAX_QUOTED = 3


class GpuTooSmallForGemmTemplates(Rule):
    """This GPU is below the size from which ``max-autotune`` tries templates for matrix products.

    ## Why it matters
    It does not, for correctness: products go to the library, as in the default mode. But the mode
    then buys little, and the rest of what it does (CUDA graphs, a search over pointwise kernels)
    can be had without waiting for it.

    ## What it looks like
    A warning, once per process:

        W1120 10:00:00.000000 4242 torch/_inductor/utils.py:1953] [0/0] Not enough SMs to use max_autotune_gemm mode

    The limit is 68 multiprocessors on NVIDIA GPUs (a GeForce RTX 3080 has as many) and 16 on Intel
    GPUs. A MIG slice counts with what it was given. On AMD GPUs the text is ``GPU arch does not
    support max_autotune_gemm mode usage``: architectures below gfx9, and gfx10.

    ## When it is harmless
    Always: it is a decision, not an error.

    ## What to do
    Nothing. ``mode="default"``, or ``mode="reduce-overhead"`` for CUDA graphs, compile faster and
    give the same products.

    ## How a live run confirms it
    It does not: the limit is compared with a fact of the hardware.

    ## See also
    TUN002 for products that the library wins.
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "TUN006"
    name = "gpu-too-small-for-gemm-templates"
    severity = Severity.NONE
    moved_by: ClassVar = {"warnings.topic": {"max-autotune-gpu"}}
    unconfirmable = "it is a fact about the machine or the build"

    class Data(InRun):
        """The GPU has no templates: by its architecture (AMD), or for want of multiprocessors."""

        is_amd: bool

    remedies = (
        Remedy(
            id="no-search",
            text="Nothing has to be done. Without the search the model compiles faster.",
            code='model = torch.compile(model, mode="reduce-overhead")',
            basis="untestable",
            proof="needs a small GPU",
        ),
    )

    def check(self, warnings: Table[TorchWarning], *, run: Table[RunFacts]) -> Iterator[Finding]:
        """Yield one note, however many processes said it."""
        rows = [row for row in warnings if row.record.topic == "max-autotune-gpu"]
        if not rows:
            return
        amd = any("GPU arch" in row.text for row in rows)
        why = "its architecture has none" if amd else "it has too few multiprocessors (SMs)"
        data = self.Data.of(run, is_amd=amd)
        yield self.finding(
            "gpu",
            title="max-autotune tries no templates for matrix products on this GPU",
            message=(
                f"Inductor leaves them out because {why}. Matrix products go to the library, as in "
                "the default mode; everything else is compiled and tuned."
            ),
            count=sum(row.count for row in rows),
            evidence=[row.quote() for row in rows[:MAX_QUOTED]],
            harmless="it is no error: the library's kernels are used",
            advice=self.advise(data),
            data=data,
        )
