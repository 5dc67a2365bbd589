"""CMP001 compile-time-dominates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Table
from tracelens.experiment import EMPTY_CACHES
from tracelens.frames.compile_seconds import CompileSeconds
from tracelens.logs.recompiles import Recompile
from tracelens.report import Advice, Confidence, Cost, Finding, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.logs.autotune import AutotuneTable

__all__ = ["CompileTimeDominates"]

#: Seconds of compilation that are worth a word: as Dynamo measured them, and by the log's clocks.
MIN_MEASURED = 10.0
MIN_CLOCKS = 30.0


class CompileTimeDominates(Rule):
    """Compiling took so long that it is worth knowing where the time went.

    ## Why it matters
    Compilation is the price of the first call, of each new variant, and of each start of the
    program. Which part of it takes long says what helps: tracing (fewer, larger regions), recompiles
    (fewer variants), code generation and the compilers behind it (caches, more processes).

    ## What it looks like
    The structured log of torch (``TORCH_TRACE``) has the seconds of every compilation, the table at
    the end of ``TORCH_LOGS="+dynamo"`` those of the phases:

        I1120 11:24:26.709000 28532 torch/_dynamo/utils.py:925] TorchDynamo compilation metrics:
        I1120 11:24:26.709000 28532 torch/_dynamo/utils.py:925] Function, Runtimes (s)
        I1120 11:24:26.709000 28532 torch/_dynamo/utils.py:925] _compile.compile_inner, 21.4449, 8.1032
        I1120 11:24:26.709000 28532 torch/_dynamo/utils.py:925] OutputGraph.call_user_compiler, 18.0710, 7.1001

    Other logs only have clocks: the time from the first to the last record of each compilation,
    unless a reset of Dynamo gave one number to several of them.

    ## When it is harmless
    In a run of hours, and where the next start finds everything in a cache. Below 10 s as measured,
    or 30 s by the clocks, nothing is reported. Caches were cold if this was the first run. Logging
    itself takes a part of the time. The seconds of recompiles belong to the RCP findings, and those of
    tuning to the TUN findings, which say what to do about them: where these took most of the
    time, this is a note.

    ## What to do
    Keep the cache directory from start to start; compile a repeated block once instead of the
    whole model; remove recompiles.

    ## How a live run confirms it
    The program is started twice with one cache directory. Confirmed when the second start compiles
    in a fraction of the time.

    ## See also
    CMP002 and CMP003 (caches that do not help), CMP004 (one process), RCP rules (recompiles).
    <https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "CMP001"
    name = "compile-time-dominates"
    severity = Severity.INFO
    claim = "time"
    unconfirmable = EMPTY_CACHES

    def check(
        self,
        processes: Table[CompileSeconds],
        *,
        recompiles: Table[Recompile],
        tables: Table[AutotuneTable],
    ) -> Iterator[Finding]:
        """Yield one finding: of several ranks, which compile side by side, the slowest counts."""
        sums = max((row.record for row in processes), key=lambda sums: sums.seconds)
        least = MIN_MEASURED if sums.basis == "measured" else MIN_CLOCKS
        if sums.seconds >= least:
            told = sums.again_seconds if len(recompiles) else 0.0
            told += sum(row.count * (row.record.seconds or 0.0) for row in tables)
            rest = max(0.0, sums.seconds - told)
            yield self._finding(sums, rest, is_told=rest < sums.seconds / 2)

    def _finding(self, sums: CompileSeconds, rest: float, *, is_told: bool) -> Finding:
        exact = sums.basis == "measured"
        about = "" if exact else "about "
        number = f"{sums.count} compilations" if sums.count > 1 else "one compilation"
        again = ""
        if sums.again:
            kind = "are recompiles" if sums.again > 1 else "is a recompile"
            again = f" {sums.again} of them {kind} and took {sums.again_seconds:.3g} s"
            again += ", which the RCP findings explain." if is_told else "."
        parts = f" {', '.join(sums.parts)}." if sums.parts else ""
        longest = f" Longest: {', '.join(sums.longest)}." if sums.longest else ""
        clocks = (
            "" if exact else " These are the clocks of the log: TORCH_TRACE would tell exactly."
        )
        return self.finding(
            "seconds",
            title=f"compiling took {about}{sums.seconds:.3g} s",
            message=f"{number[0].upper()}{number[1:]} took {about}{sums.seconds:.3g} s."
            f"{again}{parts}{longest}{clocks}",
            severity=Severity.NONE if is_told else None,
            confidence=Confidence.HIGH if exact else Confidence.LOW,
            count=sums.count,
            where=sums.where,
            evidence=sums.quotes,
            # A second counts once: where something can be done about it.
            cost=None if is_told else Cost(ms=rest * 1000, basis=sums.basis, of="time to compile"),
            advice=_ADVICE[:2] if exact and sums.layered else _ADVICE,
        )


_ADVICE = (
    Advice(
        text="Keep the caches from start to start: give them a directory that stays, or carry them "
        "with the program.",
        env="TORCHINDUCTOR_CACHE_DIR=/path/that/stays",
        since="2.1",
    ),
    Advice(
        text="Compile a block that the model repeats once, instead of the whole model.",
        code="for block in model.blocks: block.compile()",
        since="2.2",
    ),
    Advice(
        text="See the seconds of every compilation and phase.",
        env="TORCH_TRACE=trace_dir",
        since="2.3",
    ),
)
