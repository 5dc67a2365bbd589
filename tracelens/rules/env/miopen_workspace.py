"""ENV011 miopen-workspace."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.miopen import ChosenSolver, MissingDatabase, Workspace
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import few, size

__all__ = ["MiopenWorkspace"]


class MiopenWorkspace(Rule):
    """MIOpen skipped its fast convolution solvers, because it was given no workspace.

    ## Why it matters
    On AMD GPUs, convolutions run in MIOpen. In the mode in which torch asks it for an answer at
    once, it gets no memory to work in; solvers that need some are passed over, on GPUs without a
    tuned database down to the naive loop, which is tens of times slower.

    ## What it looks like
    A warning per solver, whatever the level of the log, and at level 6 what was taken:

        MIOpen(HIP): Warning [IsEnoughWorkspace] [EvaluateInvokers] Solver <GemmFwdRest>, workspace required: 11325440, provided ptr: 0 size: 0
        MIOpen(HIP): Info2 [GetSolutionsFallback] id: 85, algo: 1, time: 1000, ws: 0, name: ConvDirectNaiveConvFwd

    ## When it is harmless
    During the search itself (``torch.backends.cudnn.benchmark = True``), where a candidate is tried
    without workspace and then another wins. Where the naive solver was not taken, the warning costs
    nothing but the candidate.

    ## What to do
    Let it search once per shape: the result is kept in the user's database. Fixed shapes make that
    worthwhile.

    ## How a live run confirms it
    Not applicable: it needs an AMD GPU.

    ## See also
    <https://github.com/pytorch/pytorch/issues/150168>,
    <https://rocm.docs.amd.com/projects/MIOpen/en/latest/how-to/find-and-immediate.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ENV011"
    name = "miopen-workspace"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """What was passed over, and what was taken instead."""

        passed_over: tuple[str, ...] = ()
        required_bytes: int = 0
        naive: tuple[str, ...] = ()
        missing_database: str = ""

    remedies = (
        Remedy(
            "search",
            "Let MIOpen measure its solvers, with workspace; torch passes it on by the setting of "
            "cuDNN. Worthwhile where shapes repeat.",
            setting="torch.backends.cudnn.benchmark = True",
            since="1.8",
            basis="untestable",
            proof="needs an AMD GPU",
        ),
        Remedy(
            "find-mode",
            "Or from outside: search fully, once for each shape; the result is kept.",
            env="MIOPEN_FIND_MODE=NORMAL",
            basis="untestable",
            proof="needs an AMD GPU",
        ),
        Remedy(
            "database",
            "Install the tuned kernels of this GPU, from the same release of ROCm as torch's.",
            when="the log says that the database is missing",
            applies=lambda data: bool(data.missing_database),
            basis="untestable",
            proof="needs an AMD GPU",
        ),
        Remedy(
            "newer",
            "A newer ROCm has tuned solvers for more GPUs: take a torch built for it.",
            when="the naive solver was taken",
            applies=lambda data: bool(data.naive),
            basis="untestable",
            proof="needs an AMD GPU",
        ),
    )

    def check(
        self,
        *,
        spaces: Table[Workspace],
        chosen: Table[ChosenSolver],
        databases: Table[MissingDatabase],
    ) -> Iterator[Finding]:
        """Yield one finding for all solvers that got less memory than they need."""
        short = [row for row in spaces if row.record.size < row.record.required]
        naive = [row for row in chosen if row.record.is_naive]
        missing = list(databases)
        if not short and not naive and not missing:
            return
        data = self.Data(
            passed_over=tuple(sorted({row.record.solver for row in short})),
            required_bytes=max((row.record.required for row in short), default=0),
            naive=tuple(sorted({row.record.solver for row in naive})),
            missing_database=missing[0].record.file if missing else "",
        )
        yield self.finding(
            "workspace",
            title=_title(data),
            message=_message(data),
            confidence=Confidence.HIGH if data.naive else Confidence.MEDIUM,
            count=sum(row.count for row in short) or 1,
            evidence=[
                *[row.quote() for row in few(short)],
                *[row.quote("the naive solver") for row in naive[:1]],
                *[row.quote() for row in missing[:1]],
            ],
            advice=self.advise(data),
            data=data,
        )


def _title(data: MiopenWorkspace.Data) -> str:
    if data.naive:
        return f"MIOpen took the naive convolution `{data.naive[0]}`"
    if data.passed_over:
        return "MIOpen passed convolutions over for want of workspace"
    return "MIOpen has no tuned kernels for this GPU"


def _message(data: MiopenWorkspace.Data) -> str:
    parts = []
    if data.passed_over:
        names = ", ".join(f"`{name}`" for name in data.passed_over[:4])
        parts.append(
            f"{names} would need up to {size(data.required_bytes)} of workspace and got "
            "none or less."
        )
    if data.naive:
        parts.append("What ran instead is the plain loop, which is tens of times slower.")
    elif data.passed_over:
        parts.append("Which solver ran instead is not in the log: MIOPEN_LOG_LEVEL=6 tells.")
    if data.missing_database:
        parts.append(f"The database `{data.missing_database}` is not installed.")
    return " ".join(parts)
