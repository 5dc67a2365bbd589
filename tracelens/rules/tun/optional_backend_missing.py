"""TUN014 optional-backend-missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.dynamo.run_facts import InRun
from tracelens.evidence import Seen, Table
from tracelens.logs.warnings import TorchWarning
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts

__all__ = ["OptionalBackendMissing"]

#: Lines quoted.
MAX_QUOTED = 3

#: Words of the warnings that tell them apart; all others are about CUTLASS.
_KINDS = ("No suitable", "Composable Kernel")

Rows = list[Seen[TorchWarning]]


#: Operands of a product as the warning lists them.
_OPERANDS = re.compile(
    r"FixedLayout\('cuda(?::\d+)?', torch\.(?P<dtype>\w+), size=\[(?P<sizes>[\d, ]+)\]"
)
#: What CUTLASS has kernels for on every GPU that it supports, if sizes are multiples of this.
_HALF = frozenset({"bfloat16", "float16"})
_ALIGNED = 8


def _is_usual(text: str) -> bool:
    """Tell whether all operands are of half precision, with sizes that kernels can load."""
    found = list(_OPERANDS.finditer(text))
    sizes = [int(one) for match in found for one in match["sizes"].split(",") if one.strip()]
    return (
        bool(found)
        and {match["dtype"] for match in found} <= _HALF
        and all(size % _ALIGNED == 0 for size in sizes)
    )


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
    GEMM configs found`` is another thing: CUTLASS is there and offers no kernel for these operands.
    It is a note, but for products in half precision whose sizes are multiples of eight: it has
    kernels for those, and a checkout that does not fit this torch may give none at all.

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
        #: It has kernels for such products, and gave none.
        gave_none: bool = False

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
            id="fitting-checkout",
            text="Point TORCHINDUCTOR_CUTLASS_DIR to the CUTLASS that this torch was made with, "
            "the commit of `third_party/cutlass` in torch's sources at its tag. "
            "The log with this switch tells how many operations it generates.",
            when="CUTLASS is there, and gives no kernel for a product in half precision",
            applies=lambda data: data.gave_none,
            env='TORCH_LOGS="+inductor"',
            basis="untestable",
            proof="torch/_inductor/codegen/cutlass/gemm_template.py; needs a GPU",
        ),
        Remedy(
            id="take-off-the-list",
            text="Or take it off the list.",
            when="it cannot be imported, or gives no kernel",
            applies=lambda data: data.gave_none or not data.is_installed,
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
            usual = [row for row in unsuited if _is_usual(row.text)]
            data = self.Data.of(run, backend="CUTLASS", is_installed=True, gave_none=bool(usual))
            yield self.finding(
                "layout",
                title="CUTLASS gave no kernel for products in half precision"
                if usual
                else "CUTLASS has no kernel for some layouts",
                message="It is installed, and none of its operations fit these operands. The other "
                "backends competed without it: results are the same."
                + (
                    " It has kernels for such products: a checkout that does not fit this torch "
                    "may give none at all."
                    if usual
                    else ""
                ),
                harmless=None if usual else "the other backends competed without it",
                confidence=Confidence.MEDIUM if usual else Confidence.HIGH,
                data=data,
                count=sum(row.count for row in unsuited),
                evidence=[row.quote() for row in (usual or unsuited)[:MAX_QUOTED]],
                advice=self.advise(data) if usual else (),
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
