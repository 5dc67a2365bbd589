"""CMP001 compile-time-dominates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.dynamo.run_facts import facts_of
from tracelens.dynamo.siblings import SIBLINGS
from tracelens.evidence import Evidence, Table
from tracelens.experiment import EMPTY_CACHES
from tracelens.frames.compile_seconds import CompileSeconds
from tracelens.report import Confidence, Cost, Finding, Severity, Where, stories
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.rules.cmp._advice import MIN_BLOCKS, REMEDIES, CompileData
from tracelens.rules.cmp._kernel import of_kernel
from tracelens.words import few, length

if TYPE_CHECKING:
    from tracelens.dynamo.blocks import Blocks
    from tracelens.dynamo.called_often import CalledOften
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.dynamo.siblings import Siblings
    from tracelens.dynamo.unrolled import Unrolled
    from tracelens.logs.autotune import AutotuneTable
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.guards import GuardTree
    from tracelens.logs.onednn_verbose import PrimitiveExec
    from tracelens.logs.output_code import OutputModule
    from tracelens.logs.recompiles import Recompile
    from tracelens.logs.torch_log import CompileSpan

__all__ = ["CompileTimeDominates"]

#: Seconds of compilation that are worth a word: as Dynamo measured them, and by the log's clocks.
MIN_MEASURED = 10.0
MIN_CLOCKS = 30.0
#: Who pastes so few lines about one compilation of so many seconds asks about it.
MAX_PASTED = 30
MAX_START = 30.0
#: Functions of which each was compiled for one size more: a training step, and an evaluation.
MAX_FUNCTIONS = 2
#: A run whose oneDNN calls took this part of what compiling did, or more, is no short one.
LONG_RUN = 10


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
    time, this is a note; so is a single compilation, but for a few pasted lines that say it took 30
    s, or hold the table of the phases, two functions that were compiled once each, by the clocks,
    and one function, or two, that were compiled once more for a mode of torch, a size of 1, or a
    size that varies, and then served. In a run of a minute they may well take longer than they save: the same
    with ``TORCHDYNAMO_DISABLE=1`` tells.

    ## What to do
    A loop of Python is unrolled: compile some rounds of it. A module that a graph calls again and
    again, as in an augmentation at test time: compile that, not what calls it. Small modules of the
    same parts, side by side: compute them at once. Else keep the cache directory from start
    to start; remove recompiles. Where the guards show that the
    model repeats a block, compile the blocks instead of the whole model, unless it is frozen: then
    the weights are constants of the code, and each block needs its own.

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

    Data = CompileData
    remedies = REMEDIES

    def check(
        self,
        processes: Table[CompileSeconds],
        *,
        recompiles: Table[Recompile],
        tables: Table[AutotuneTable],
        trees: Table[GuardTree],
        graphs: Table[FxGraph],
        spans: Table[CompileSpan],
        execs: Table[PrimitiveExec],
        run: Table[RunFacts],
        modules: Table[OutputModule],
        evidence: Evidence,
    ) -> Iterator[Finding]:
        """Yield one finding: of several ranks, which compile side by side, the slowest counts."""
        sums = max((row.record for row in processes), key=lambda sums: sums.seconds)
        least = MIN_MEASURED if sums.basis == "measured" else MIN_CLOCKS
        if sums.seconds >= least:
            from tracelens.dynamo.called_often import called_often  # noqa: PLC0415 -- of few logs
            from tracelens.dynamo.siblings import siblings  # noqa: PLC0415
            from tracelens.dynamo.unrolled import unrolled  # noqa: PLC0415
            from tracelens.inductor.longest import longest  # noqa: PLC0415 -- of few logs

            told = sums.again_seconds if len(recompiles) else 0.0
            told += sum(row.count * (row.record.seconds or 0.0) for row in tables)
            rest = max(0.0, sums.seconds - told)
            harmless = _harmless(sums, recompiles, is_told=rest < sums.seconds / 2)
            is_start = harmless == _START
            if harmless in {_START, _ONCE, _ENTRIES, _EACH}:
                harmless += _pays(sums.seconds, sum(row.ms for row in execs) / 1000)
            again = called_often(graphs)
            if again.times:
                yield self._of_module(sums, rest, again, sums.seconds * _share(again, spans))
                return
            alike = graphs.derived(siblings)
            if alike.is_apart:
                yield self._of_siblings(sums, rest, alike)
                return
            blocks = _blocks(trees, graphs, alike, run)
            finding = self._finding(sums, rest, blocks, unrolled(graphs), harmless)
            long = longest(modules, graphs)
            if long.is_of_slices or (long.lines and not finding.data["rounds"]):
                yield of_kernel(self, finding, long)
                return
            asked = is_start and finding.harmless is not None and _is_asked(sums, evidence)
            quiet = {"harmless": None, "severity": self.severity}
            yield finding.model_copy(update=quiet) if asked else finding

    def _of_module(
        self, sums: CompileSeconds, rest: float, called: CalledOften, spent: float
    ) -> Finding:
        """Return the finding where most of a graph is one module that it calls again and again.

        ``spent`` are the seconds of the entries that do so.
        """
        alone = ", ".join(few(called.entries))
        exact = sums.basis == "measured"
        took = f"{'' if exact else 'about '}{length(1000 * sums.seconds)}"
        data = _data(
            sums,
            rest,
            operations=called.statements,
            calls=called.times,
            module=called.module,
        )
        return self.finding(
            "seconds",
            title=f"compiling took {took}: one graph holds `{called.module}` {called.times} times",
            message=f"Most of a graph of {called.statements} operations is `{called.module}`, "
            f"which is called {called.times} times with the same weights. Each call is traced and "
            "compiled anew"
            + (
                f" in {alone}; other entries call it less often, and without them compiling took "
                f"{length(1000 * spent)}."
                if alone
                else ", and so it is in every recompile."
            )
            + " The cost is what all calls but the first took, at most.",
            severity=Severity.WARNING,
            confidence=Confidence.HIGH if exact else Confidence.MEDIUM,
            count=sums.count,
            where=sums.where,
            evidence=sums.quotes,
            cost=Cost(ms=round(1000 * spent * (1 - 1 / called.times), 3), basis="upper_bound"),
            advice=self.advise(data),
            data=data,
        )

    def _of_siblings(self, sums: CompileSeconds, rest: float, alike: Siblings) -> Finding:
        """Return the finding where most of a graph are modules of the same parts, side by side."""
        exact = sums.basis == "measured"
        took = f"{'' if exact else 'about '}{length(1000 * sums.seconds)}"
        data = _data(
            sums,
            rest,
            operations=alike.statements,
            siblings=alike.number,
            modules=alike.list if alike.can_stack else "",
            holder=alike.holder,
        )
        same = " compute the same, and" if alike.is_same else ""
        return self.finding(
            "seconds",
            title=f"compiling took {took}: one graph holds {alike.number} modules of the same "
            "parts",
            message=f"Most of a graph of {alike.statements} operations are the modules of "
            f"`{alike.held}`, which{same} hold parameters of the same sizes. Each is traced and "
            "compiled by itself, though none needs what another computes. The cost is what all but "
            "one took, at most.",
            severity=Severity.WARNING,
            confidence=Confidence.HIGH if exact else Confidence.MEDIUM,
            count=sums.count,
            where=sums.where or (user_code.where(alike.origin.frame) if alike.origin else None),
            evidence=sums.quotes,
            cost=Cost(ms=round(1000 * rest * (1 - 1 / alike.number), 3), basis="upper_bound"),
            advice=self.advise(data),
            data=data,
        )

    def causes(self, finding: Finding) -> Iterator[Story]:
        """Tell of the small kernels of modules that are called one by one."""
        if finding.data.get("siblings"):
            yield SIBLINGS

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to a loop over a size, which the function that took longest holds unrolled."""
        data = self.data_of(finding)
        if isinstance(data, CompileData) and data.longest_at:
            yield stories.unrolled(data.longest_in, data.longest_at)

    def _finding(
        self, sums: CompileSeconds, rest: float, blocks: Blocks, loop: Unrolled, harmless: str
    ) -> Finding:
        is_told = harmless == _TOLD
        exact = sums.basis == "measured"
        about = "" if exact else "about "
        number = f"{sums.count} compilations" if sums.count > 1 else "one compilation"
        again = _again(sums, is_told=is_told)
        parts = f" {', '.join(sums.parts)}." if sums.parts else ""
        parts += _BACKEND if sums.is_backends else ""
        longest = f" Longest: {', '.join(sums.longest)}." if sums.longest else ""
        clocks = (
            "" if exact else " These are the clocks of the log: TORCH_TRACE would tell exactly."
        )
        data = _data(
            sums,
            rest,
            blocks=blocks.number,
            blocks_at=blocks.path,
            blocks_in=blocks.root,
            rounds=loop.rounds,
            operations=loop.operations,
            file=loop.file,
            line=loop.line,
            package=user_code.package(loop.file),
        )
        at = user_code.short(loop.file, loop.line)
        return self.finding(
            "seconds",
            title=f"compiling took {about}{length(1000 * sums.seconds)}"
            + (
                f": a loop is unrolled, and one graph repeats a line {loop.rounds} times"
                if loop.rounds
                else ""
            ),
            message=f"{number[0].upper()}{number[1:]} took {about}{length(1000 * sums.seconds)}."
            f"{again}{parts}{longest}{clocks}"
            + (
                f" Most of a graph of {loop.operations} operations is the loop around {at}, "
                "or that calls it."
                if loop.rounds
                else ""
            ),
            severity=Severity.WARNING if loop.rounds and not is_told else None,
            harmless=None if loop.rounds and not is_told else harmless or None,
            confidence=Confidence.HIGH if exact else Confidence.LOW,
            count=sums.count,
            where=Where(file=loop.file, line=loop.line, function=loop.function)
            if loop.rounds
            else sums.where,
            evidence=sums.quotes,
            # No cost: the order would put it above findings that say what to do.
            advice=self.advise(data),
            data=data,
        )


def _data(sums: CompileSeconds, rest: float, **repeated: str | int) -> CompileData:
    """Return what compiling took, and what of it is repeated."""
    return CompileData(
        seconds=sums.seconds,
        compilations=sums.count,
        again=sums.again,
        again_seconds=sums.again_seconds,
        untold_seconds=rest,
        is_measured=sums.basis == "measured",
        is_layered=sums.layered,
        longest_in=sums.where.file if sums.where else "",
        longest_at=(sums.where.line or 0) if sums.where else 0,
        **repeated,
    )


def _again(sums: CompileSeconds, *, is_told: bool) -> str:
    """Say what the recompiles took, as far as the log tells."""
    if not sums.again:
        return ""
    number = f" {sums.again} of them {'are recompiles' if sums.again > 1 else 'is a recompile'}"
    if not sums.again_timed:
        whose = "whose times" if sums.again > 1 else "whose time"
        return f"{number}, {whose} the log does not tell."
    spent = f"{number} and took {length(1000 * sums.again_seconds)}"
    if sums.again_timed < sums.again:
        spent += f", without {sums.again - sums.again_timed} whose time the log does not tell"
    return spent + (", which the RCP findings explain." if is_told else ".")


def _harmless(sums: CompileSeconds, recompiles: Table[Recompile], *, is_told: bool) -> str:
    """Return why there is nothing to do: it is the price of a start, or others tell of it.

    What a start brings is mostly told by notes, which say nothing of a run that is too short.
    """
    told = _TOLD if is_told else ""
    if not sums.again:
        once = sums.count <= MAX_FUNCTIONS and sums.basis != "measured"
        return told or (_START if sums.count == 1 else _ONCE if once else "")
    from tracelens.dynamo.expected_entries import (  # noqa: PLC0415 -- of few logs
        are_whole,
        is_expected,
    )

    functions = sums.count - sums.again
    several = functions > 1
    if several and not (functions <= MAX_FUNCTIONS and are_whole(recompiles, functions)):
        return told
    return (_EACH if several else _ENTRIES) if is_expected(recompiles) else told


def _blocks(
    trees: Table[GuardTree], graphs: Table[FxGraph], alike: Siblings, run: Table[RunFacts]
) -> Blocks:
    """Return the blocks of the model, as guards name them, or where they do not, graphs.

    None where it is frozen: the weights are constants of the code, which no other block can use.
    """
    from tracelens.dynamo.blocks import (  # noqa: PLC0415 -- of few logs
        Blocks,
        are_constants,
        repeated,
    )

    if facts_of(run).is_frozen or are_constants(trees):
        return Blocks()
    found = repeated(trees, graphs)
    return found if found.number >= MIN_BLOCKS else alike.blocks


def _pays(compiling: float, computing: float) -> str:
    """Say how a run is found out that is too short for what compiling took, in seconds.

    No line of a log tells how long a program went on; only oneDNN's calls are timed to the end.
    """
    if computing >= compiling / LONG_RUN:
        return ""
    if not computing:
        return f"; in a short run it may not pay: {_COMPARE}"
    spent = f"oneDNN's calls took {length(1000 * computing)} in all"
    return f"; {spent}, so this run may be too short for it: {_COMPARE}"


def _share(called: CalledOften, spans: Table[CompileSpan]) -> float:
    """Return which part of the time took entries that may call it often, by the clocks."""
    took = [(row.record.frame in called.others, row.record.seconds) for row in spans]
    whole = sum(seconds for _, seconds in took)
    return 1 - sum(seconds for is_other, seconds in took if is_other) / whole if whole else 1.0


_TABLE = "compile_times"
_BACKEND = (
    " So it was not Dynamo: which part of the backend it was, rows tell that are not in this table."
)
_COMPARE = "compare one with TORCHDYNAMO_DISABLE=1"
_TOLD = "most of it went into recompiles or tuning, which have findings or notes of their own"
_START = "one compilation is what a start takes"
_ONCE = "each function was compiled once: what a start takes"
_EACH = "each function was compiled once, and once more for sizes or modes: what a start takes"
_ENTRIES = "one compilation, and one more for each mode and for sizes that vary: what a start takes"


def _is_asked(sums: CompileSeconds, evidence: Evidence) -> bool:
    """Whether a few lines were pasted that tell of nothing but a long compilation, or a table."""
    lines = evidence.understood_lines + evidence.unread_lines
    long = sums.seconds >= MAX_START or _TABLE in evidence.kinds
    return lines <= MAX_PASTED and long and sums.basis == "measured"
