"""TUN005 no-valid-choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.inductor.autotune_drops import NOTHING_RAN, Drop, Search, dropped, no_choice, quote
from tracelens.inductor.autotune_search import line_of, spent
from tracelens.inductor.autotune_tables import label
from tracelens.inductor.tuning_data import TuningData
from tracelens.logs.autotune import AutotuneTable
from tracelens.logs.compile_errors import Failure, LogError
from tracelens.remedies import Remedy
from tracelens.report import EvidenceLine, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import length

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.failures import Failure as Ending

__all__ = ["NoValidChoice"]

#: What the message says of a tensor in the CPU's memory.
ON_CPU = "Layout('cpu'"
#: Lines quoted of each sort.
MAX_QUOTED = 3


def _may_be_flex(data: NoValidChoice.Data) -> bool:
    """Whether it is flex_attention, or the text does not tell what it is."""
    return data.operator.startswith("flex") or (not data.operator and data.outcome == "ended")


class NoValidChoice(Rule):
    """Every template failed for a shape: only the library is left, or nothing that is known to work.

    ## Why it matters
    The search compiled and measured candidates, and none of them runs. Where the library is among
    the candidates it is called, as without ``mode="max-autotune"``, and what follows the product
    stays a kernel of its own. Where it is not, torch takes a kernel that has just failed, or gives
    up the compilation.

    ## What it looks like
    Templates without a time, below the library that won:

        AUTOTUNE linear_unary(64x16, 32x16, 32)
          _linear_pointwise 0.0277 ms 100.0%
          cpp_CppMicroGemmFP32Vec_0 inf ms 0.0%

    or a warning of torch 2.13 and later:

        W1120 10:00:03.000000 4242 torch/_inductor/select_algorithm.py:4081] [0/0] All autotuning benchmarks failed (timing=inf). Falling back to ExternKernelCaller: mm

    ## When it is harmless
    When other shapes of the same run kept their templates: then it is a note of this shape. A table
    of the library alone is no failure: there no template was tried.

    ## What to do
    Read the error above the table: it says why. Let the library compete (``ATEN`` among the
    backends), update torch, or leave the failing backend out, which saves its time.

    ## How a live run confirms it
    The same graph with the backends ``ATEN,TRITON,CPP``. Confirmed when no template has a time;
    refuted when one has.

    ## See also
    TUN004 for candidates that do not fit, TUN013 for those that crash, TUN002 for what it costs
    that the library won.
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "TUN005"
    name = "no-valid-choice"
    severity = Severity.WARNING
    experiment = Experiment(
        Knob(
            "library kernels are candidates too",
            config={"torch._inductor.config.max_autotune_gemm_backends": "ATEN,TRITON,CPP"},
        ),
        time="any",
    )

    class Data(TuningData):
        """What no candidate was left for."""

        #: ``ended`` the compilation, ``doomed``: a failed kernel is called, ``library``: left.
        outcome: Literal["ended", "doomed", "library"]
        ended_program: bool = False
        #: ``flex_attention``: it has templates alone, and no library to fall back to.
        operator: str = ""
        #: ``memory`` or ``failed``: the first reason that the log gives.
        why: str = ""

    remedies = (
        Remedy(
            id="allow-library",
            text=lambda data: (
                "Let the library compete, so that there is something to fall back to."
                if data.operator
                else "Where the program names backends without ATEN, let the library compete; the "
                "list below is torch's default."
            ),
            when="any operator that has a library kernel, or the log does not name it",
            applies=lambda data: data.outcome != "library" and not data.operator.startswith("flex"),
            setting='torch._inductor.config.max_autotune_gemm_backends = "ATEN,TRITON,CPP"',
            env="TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS=ATEN,TRITON,CPP",
            proof="https://github.com/pytorch/pytorch/blob/main/torch/_inductor/select_algorithm.py",
            knob=experiment.knob,
        ),
        Remedy(
            id="smaller-blocks",
            text=lambda data: (
                "Give the kernel smaller blocks: flex_attention has templates only, so that a "
                "library cannot be added."
                if data.operator
                else "If it is flex_attention, which has templates only, so that a library cannot "
                "be added: give its kernel smaller blocks."
            ),
            when="flex_attention, or the log does not name the operator",
            applies=lambda data: _may_be_flex(data) and data.outcome != "library",
            code='kernel_options = {"BLOCK_M": 32, "BLOCK_N": 32, "num_stages": 1}\n'
            "out = flex_attention(query, key, value, kernel_options=kernel_options)",
            since="2.5",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            id="newer-torch",
            text=lambda data: (
                f"{'Update' if data.operator else 'Or update'} torch: its list of configurations "
                "for flex_attention knows more GPUs, and differs by release."
            ),
            when="flex_attention, or the log does not name the operator",
            applies=_may_be_flex,
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            id="report",
            text="Update torch, or report the error that the search logged for the template.",
            when="the library is left",
            applies=lambda data: data.outcome == "library",
            basis="untestable",
            proof="it is a report",
        ),
        Remedy(
            id="library-only",
            text="Until then leave the failing templates out, which saves the time they take.",
            when="the library is left",
            applies=lambda data: data.outcome == "library",
            setting='torch._inductor.config.max_autotune_gemm_backends = "ATEN"',
            env="TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS=ATEN",
            basis="untestable",
            proof="needs a template that fails",
        ),
    )

    def check(
        self,
        searches: Table[Search],
        *,
        run: Table[RunFacts],
        errors: Table[LogError],
        failures: Table[Failure],
        tables: Table[AutotuneTable],
        endings: Table[Ending],
    ) -> Iterator[Finding]:
        """Yield what ended the compilation, what may crash, and what is left to the library."""
        ended = [row for row in failures if no_choice(row.record)]
        flex = any(row.record.cause == "flex-attention" for row in endings)
        # Of the CPU, ERR014 tells all that is known.
        if ended and not (flex and any(ON_CPU in row.text for row in (*ended, *endings))):
            yield self._ended(ended, run, "flex_attention" if flex else "")
        nothing = [row for row in errors if row.record.title == NOTHING_RAN]
        doomed: list[Seen[LogError]] = []
        told: list[Seen[LogError]] = []
        for row in nothing:
            (doomed if "no ExternKernelCaller" in row.record.text else told).append(row)
        if doomed:
            yield self._doomed(doomed, run)
        lost = [row for row in tables if _lost(row.record)]
        if lost or told:
            kept = any(c.is_template and c.ran for row in tables for c in row.record.choices)
            drops = dropped(searches, "failed", "memory")
            yield self._library(lost, told, drops, run, kept=kept)

    def _ended(self, rows: list[Seen[Failure]], run: Table[RunFacts], said: str) -> Finding:
        operator = next(filter(None, (_target(row.text) for row in rows)), said)
        data = self.Data.of(run, outcome="ended", ended_program=True, operator=operator)
        return self.finding(
            "ended",
            title="the compilation ended: no candidate was left to choose from",
            message=f"{rows[0].record.message.rstrip('.')}.",
            severity=Severity.ERROR,
            count=sum(row.count for row in rows),
            evidence=[_quote(row, "NoValidChoicesError") for row in rows[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )

    def _doomed(self, rows: list[Seen[LogError]], run: Table[RunFacts]) -> Finding:
        operator = next(filter(None, (_target(row.text) for row in rows)), "")
        data = self.Data.of(run, outcome="doomed", operator=operator)
        return self.finding(
            "doomed",
            title="a kernel that failed in autotuning is called all the same",
            message=(
                "Every candidate failed, and no library call was among them to fall back to. Torch "
                "took one of the failed kernels: the program may crash where it is called."
            ),
            severity=Severity.ERROR,
            count=sum(row.count for row in rows),
            evidence=[_quote(row, NOTHING_RAN) for row in rows[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )

    def _library(
        self,
        lost: list[Seen[AutotuneTable]],
        told: list[Seen[LogError]],
        drops: list[tuple[Seen[Search], Drop]],
        run: Table[RunFacts],
        *,
        kept: bool,
    ) -> Finding:
        count = len(lost) or sum(row.count for row in told)
        took = sum(spent(row.record) for row in lost)
        seconds = f" The search took {length(1000 * took)}." if took else ""
        names = "; ".join(label(row.record) for row in lost[:MAX_QUOTED])
        what = f"{names}: every template failed" if names else "Every candidate failed"
        evidence = [_row(row) for row in lost[:MAX_QUOTED]]
        evidence += [_quote(row, NOTHING_RAN) for row in told[:MAX_QUOTED]]
        evidence += [quote(row, drop, "the reason") for row, drop in drops[:MAX_QUOTED]]
        why = drops[0][1].why if drops else ""
        operator = lost[0].record.op if lost else ""
        data = self.Data.about(run, lost, outcome="library", operator=operator, why=why)
        return self.finding(
            "library",
            title=f"no template ran for {'one shape' if count == 1 else f'{count} shapes'}",
            message=(
                f"{what}{_why(drops)}, so the library is called, and what follows the "
                f"product stays a kernel of its own.{seconds}"
            ),
            severity=Severity.INFO if kept else Severity.WARNING,
            count=count,
            evidence=evidence,
            advice=self.advise(data),
            data=data,
        )


def _lost(table: AutotuneTable) -> bool:
    """Whether templates took part and only the library has a time."""
    templates = [choice for choice in table.choices if choice.is_template]
    return bool(templates) and table.best is not None and not any(c.ran for c in templates)


def _why(drops: Sequence[tuple[Seen[Search], Drop]]) -> str:
    """Return the first reason, to be read after "every template failed"."""
    if not drops:
        return ""
    _, drop = drops[0]
    if drop.why == "memory":
        return " because it needs more shared memory than this GPU has"
    return f" ({drop.message.rstrip('.')})" if drop.message else ""


def _row(row: Seen[AutotuneTable]) -> EvidenceLine:
    failed = next(choice for choice in row.record.choices if choice.is_template)
    return row.quote(label(row.record).replace("`", ""), at=failed.at)


def _quote(row: Seen[LogError] | Seen[Failure], word: str) -> EvidenceLine:
    return row.quote(at=line_of(row.text, word))


def _target(text: str) -> str:
    """Return the operator that an error of the lowering names in its line ``target:``."""
    lines = (line.strip() for line in text.split("\n"))
    found = next((line for line in lines if line.startswith("target: ")), "")
    return found.removeprefix("target: ").rpartition("ops.")[2]
