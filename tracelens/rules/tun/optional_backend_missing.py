"""TUN014 optional-backend-missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.dynamo.run_facts import InRun
from tracelens.evidence import Seen, Table
from tracelens.logs.warnings import TorchWarning
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts

__all__ = ["OptionalBackendMissing"]

#: Lines quoted.
MAX_QUOTED = 3

#: Words of the warnings that tell them apart; all others are about CUTLASS.
_KINDS = ("No suitable", "Composable Kernel")

Rows = list[Seen[TorchWarning]]


class OptionalBackendMissing(Rule):
    """A backend was asked for in the search for the fastest kernel, and is not installed.

    ## Why it matters
    Somebody put CUTLASS or Composable Kernel on the list of backends and expects its kernels to
    compete. They do not, and the table does not say so.

    ## What it looks like
    A warning, at each product that would have used it:

        W1120 10:00:05.000000 4242 torch/_inductor/utils.py:2458] [0/0] Failed to import CUTLASS lib. Please check whether _inductor.config.cutlass.cutlass_dir /opt/cutlass is set correctly. Skipping CUTLASS backend for now.

    For AMD GPUs it reads ``Please pip install Composable Kernel package``.

    ## When it is harmless
    When the backend is on the list by habit: the others compete as before. ``No suitable Cutlass
    GEMM configs found`` is another thing: CUTLASS is there and has no kernel for this layout. It is
    a note.

    ## What to do
    Install it, or take it off the list.

    ## How a live run confirms it
    It does not: the import fails or not.

    ## See also
    TUN005 for shapes without any template.
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "TUN014"
    name = "optional-backend-missing"
    severity = Severity.INFO
    moved_by: ClassVar = {"warnings.topic": {"missing-backend"}}
    unconfirmable = "it is a fact about the machine or the build"

    class Data(InRun):
        """The backend that is missing; or CUTLASS without a kernel for some layouts."""

        backend: str
        is_installed: bool = False

    remedies = (
        Remedy(
            id="cutlass",
            text="Point TORCHINDUCTOR_CUTLASS_DIR to a checkout of CUTLASS with its Python "
            "package.",
            when="CUTLASS",
            applies=lambda data: data.backend == "CUTLASS" and not data.is_installed,
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            id="composable-kernel",
            text="Install Composable Kernel's Python package, which is part of its repository.",
            when="Composable Kernel",
            applies=lambda data: data.backend == "Composable Kernel",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            id="take-off-the-list",
            text="Or take it off the list.",
            when="it cannot be imported",
            applies=lambda data: not data.is_installed,
            setting='torch._inductor.config.max_autotune_gemm_backends = "ATEN,TRITON,CPP"',
            env="TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS=ATEN,TRITON,CPP",
            basis="untestable",
            proof="needs a GPU",
        ),
    )

    def check(self, warnings: Table[TorchWarning], *, run: Table[RunFacts]) -> Iterator[Finding]:
        """Yield one finding per backend, and a note about layouts without a kernel."""
        rows = [row for row in warnings if row.record.topic == "missing-backend"]
        by_kind: dict[str, Rows] = {}
        for row in rows:
            kind = next((word for word in _KINDS if word in row.text), "CUTLASS")
            by_kind.setdefault(kind, []).append(row)
        unsuited, amd, cutlass = (by_kind.get(kind, []) for kind in (*_KINDS, "CUTLASS"))
        if cutlass:
            yield self._missing("CUTLASS", cutlass, run)
        if amd:
            yield self._missing("Composable Kernel", amd, run)
        if unsuited:
            yield self.finding(
                "layout",
                title="CUTLASS has no kernel for some layouts",
                message="It is installed, but has no configuration for these operands.",
                harmless="the other backends competed without it",
                data=self.Data.of(run, backend="CUTLASS", is_installed=True),
                count=sum(row.count for row in unsuited),
                evidence=[row.quote() for row in unsuited[:MAX_QUOTED]],
            )

    def _missing(self, backend: str, rows: Rows, run: Table[RunFacts]) -> Finding:
        data = self.Data.of(run, backend=backend)
        return self.finding(
            backend,
            title=f"{backend} was requested and cannot be imported",
            message=(
                "The list of backends names it, so its kernels should have competed in "
                "`max-autotune`. Inductor went on without them."
            ),
            count=sum(row.count for row in rows),
            evidence=[row.quote() for row in rows[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )
