"""TUN014 optional-backend-missing."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.logs.warnings import TorchWarning
from tracelens.report import Advice, Finding, Severity
from tracelens.rules import Rule

__all__ = ["OptionalBackendMissing"]

#: Lines quoted.
MAX_QUOTED = 3

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
    unconfirmable = "it is a fact about the machine or the build"

    def check(self, warnings: Table[TorchWarning]) -> Iterator[Finding]:
        """Yield one finding per backend, and a note about layouts without a kernel."""
        rows = [row for row in warnings if row.record.topic == "missing-backend"]
        unsuited = [row for row in rows if "No suitable" in row.text]
        amd = [row for row in rows if "Composable Kernel" in row.text]
        cutlass = [row for row in rows if row not in unsuited and row not in amd]
        if cutlass:
            yield self._missing("CUTLASS", cutlass, _CUTLASS)
        if amd:
            yield self._missing("Composable Kernel", amd, _CK)
        if unsuited:
            yield self.finding(
                "layout",
                title="CUTLASS has no kernel for some layouts",
                message="It is installed, but has no configuration for these operands. The other "
                "backends competed without it.",
                severity=Severity.NONE,
                count=sum(row.count for row in unsuited),
                evidence=[row.quote() for row in unsuited[:MAX_QUOTED]],
            )

    def _missing(self, backend: str, rows: Rows, install: Advice) -> Finding:
        return self.finding(
            backend,
            title=f"{backend} was asked for and cannot be imported",
            message=(
                "The list of backends names it, so its kernels should have competed in "
                "`max-autotune`. Inductor went on without them."
            ),
            count=sum(row.count for row in rows),
            evidence=[row.quote() for row in rows[:MAX_QUOTED]],
            advice=(install, _DROP),
        )


_CUTLASS = Advice(
    text="Point to a checkout of CUTLASS with its Python package.",
    env="TORCHINDUCTOR_CUTLASS_DIR=<folder>",
)
_CK = Advice(
    text="Install Composable Kernel's Python package, which is part of its repository.",
)
_DROP = Advice(
    text="Or take it off the list.",
    setting='torch._inductor.config.max_autotune_gemm_backends = "ATEN,TRITON,CPP"',
    env="TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS=ATEN,TRITON,CPP",
)
