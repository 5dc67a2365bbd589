"""LOG001 log-incomplete."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from tracelens.evidence import Gap, NotRead, Table
from tracelens.experiment import ABOUT_THE_LOG
from tracelens.logs.recording import LeftOut
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.rules.log import _parts
from tracelens.words import plural, size

if TYPE_CHECKING:
    from tracelens.evidence import Evidence
    from tracelens.failures import Failure
    from tracelens.logs.autotune import AutotuneTable, LooseChoices
    from tracelens.logs.compile_errors import LogError
    from tracelens.logs.dynamic import GuardAdded, Replaced
    from tracelens.logs.foreign import ForeignLine
    from tracelens.logs.fragments import Fragment
    from tracelens.logs.fusion import FusionRefused
    from tracelens.logs.helion import SearchDone, SearchStep
    from tracelens.logs.key_averages import KeyAverages
    from tracelens.logs.nsys_stats import NsysTable
    from tracelens.logs.onednn_verbose import LibraryVersion, PrimitiveExec
    from tracelens.logs.openvino_verbose import NodeExec
    from tracelens.logs.recompiles import LooseFailures, Recompile
    from tracelens.logs.torch_notes import TorchNote
    from tracelens.logs.triton_autotuning import KernelTuned
    from tracelens.traces.printed import DeviceProfile

__all__ = ["LogIncomplete"]

#: The cause of a failure: a recompile was made an error.
_RAISED = "recompile-error"
#: Share of a log that one line is at least, to be worth a word when it is not read.
CUT_LINE = 0.5


class LogIncomplete(Rule):
    """The log is cut in the middle of a record, or a part of one: absence proves nothing.

    ## Why it matters
    A log that was rotated, pasted in part or cut by a full disk shows a part of the run. What it
    shows is true; what it does not show may still have happened: totals are lower bounds.

    ## What it looks like
    The first line is the rest of a prefix (``tput_code] ``), or the last one stops in mid-word:

        V1120 10:45:50.410000 30895 torch/_dynamo/guards.py:5396] [0/2] [__recompiles] Recompiling

    Or more than 2 % of the lines of torch and oneDNN are not read: a version that writes
    what no grammar knows yet.

    Or only a part of a record was pasted, such as why a function was compiled again, without
    the function; rows of a table without its head; a kernel without its log. Or the log is another
    tool's: of Triton's own autotuner, Helion, OpenVINO, XLA, ExecuTorch. A text of up to 60 lines
    in which no rule finds anything is told for what it is as well, and not just called clean.

    ## When it is harmless
    When the part that matters is there. A cut is therefore a note, of severity ``none``; it
    silences only rules that conclude something from what is *missing*. A pasted part is an
    ``info``; it says what the part is, what it most likely means, and what would tell the rest.

    ## What to do
    Record the run again into a file: ``python train.py > run.log 2>&1``, and attach the whole file,
    compressed if it is large. ``.gz`` and ``.xz`` are read as they are. A recording of ``tracelens
    run`` keeps the head and the tail of a very long log and says what it left out: run fewer steps.

    ## How a live run confirms it
    Not applicable: the finding is about the file.

    ## See also
    <https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html>
    """

    code = "LOG001"
    name = "log-incomplete"
    severity = Severity.NONE
    claim = "absence"
    suppresses = "absence"
    unconfirmable = ABOUT_THE_LOG

    class Data(FindingData):
        """What is missing of the log."""

        #: ``cut``, ``part``, ``shortened`` or ``unread``.
        how: Literal["cut", "part", "shortened", "unread"]
        what: str = ""
        lines: int | None = None

    remedies = (
        Remedy(
            id="whole-run",
            text="Record the whole run into one file: `python your_script.py > run.log 2>&1`.",
            when="the log is cut",
            applies=lambda data: data.how == "cut",
            basis="untestable",
            proof="it is about the log",
        ),
        Remedy(
            id="fewer-steps",
            text="Record fewer steps: the first ones tell most.",
            when="a long recording left lines out",
            applies=lambda data: data.how == "shortened",
            basis="untestable",
            proof="it is about the log",
        ),
        Remedy(
            id="update-tracelens",
            text="Update tracelens; if it stays, report the lines that -v lists.",
            when="much of the log is not read",
            basis="untestable",
            proof="what a later version reads is not known here",
            applies=lambda data: data.how == "unread",
        ),
    )

    def check(
        self,
        *,
        gaps: Table[Gap],
        not_read: Table[NotRead],
        left_out: Table[LeftOut],
        fragments: Table[Fragment],
        failures: Table[LooseFailures],
        rows: Table[LooseChoices],
        averages: Table[KeyAverages],
        tuned: Table[KernelTuned],
        steps: Table[SearchStep],
        done: Table[SearchDone],
        nodes: Table[NodeExec],
        foreign: Table[ForeignLine],
        execs: Table[PrimitiveExec],
        versions: Table[LibraryVersion],
        tuning: Table[AutotuneTable],
        again: Table[Recompile],
        refused: Table[FusionRefused],
        evidence: Evidence,
        reports: Table[NsysTable],
        profiles: Table[DeviceProfile],
        notes: Table[TorchNote],
        errors: Table[LogError],
        added: Table[GuardAdded],
        replaced: Table[Replaced],
        raised: Table[Failure],
    ) -> Iterator[Finding]:
        """Yield one finding per input that was cut, per kind of part, and for what is not read."""
        yield from self._shortened(left_out)
        yield from self._unread(not_read)
        # Reasons below the message of an error that ERR000 tells.
        told = {"recompiles"} if any(row.record.cause == _RAISED for row in raised) else set()
        of_others = tuned or steps or done or nodes or foreign
        for part in (
            *_parts.of(
                fragments,
                failures,
                # What a search took says nothing alone where a table of one is there.
                rows.where(lambda one: bool(one.choices)) if len(tuning) else rows,
                execs,
                versions,
                kinds=evidence.kinds,
                shapes=[row.record for row in (*added, *replaced)],
                nameless=[row.record for row in again if row.record.function == "?"],
                told=told,
            ),
            *(_rests(fragments, notes, errors, evidence) if fragments or notes or errors else ()),
            *_parts.of_tables(averages),
            *_parts.of_nsys(reports, profiles),
            *_parts.heads(tuning, again, refused, evidence.kinds),
            *(_others(tuned, steps, done, nodes, foreign, evidence=evidence) if of_others else ()),
        ):
            rest = "" if part.whole else ", without the log around it"
            yield self._told(part, f"{part.title or part.what}{rest}")
        by_input: dict[str, list[tuple[str, int]]] = {}
        for gap in gaps:
            by_input.setdefault(gap.first.input, []).append((gap.record.what, gap.first.line))
        for name, cuts in by_input.items():
            what = " and ".join(what for what, _ in cuts)
            yield self.finding(
                what,
                title=f"the log {what}",
                message=f"{name} {what}: counts are lower bounds, and absence proves nothing.",
                evidence=[gap.quote(gap.record.what) for gap in gaps if gap.first.input == name],
                harmless="what it holds is judged as far as it goes",
                advice=self.advise(self.Data(how="cut")),
                data=self.Data(how="cut", what=what),
            )

    def alone(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield what a short log is in which nothing else is found."""
        from tracelens.rules.log import _alone  # noqa: PLC0415 -- of few logs

        part = _alone.of(evidence)
        if part is not None:
            title = part.title or part.what
            yield self._told(part, title if part.whole else f"a short log: {title}")

    def _told(self, part: _parts.Part, title: str) -> Finding:
        return self.finding(
            "part",
            part.what,
            title=title,
            message=f"{part.means} {part.rest}".rstrip(),
            severity=Severity.INFO,
            confidence=Confidence.MEDIUM,
            count=part.seen,
            evidence=part.quotes,
            advice=[part.advice],
            data=self.Data(how="part", what=part.what),
        )

    def _unread(self, not_read: Table[NotRead]) -> Iterator[Finding]:
        for seen in not_read:
            record = seen.record
            if record.known + record.refused == 1 and record.share < CUT_LINE:
                continue  # it was cut, most likely
            ways = [
                f"{plural(lines, 'line')} {words}"
                for lines, words in (
                    (record.known, "of sites that no grammar reads yet"),
                    (record.refused, "that a grammar refused"),
                )
                if lines
            ]
            yield self.finding(
                "not read",
                title=f"{record.share * 100:.0f} % of what torch and oneDNN wrote was not read",
                message=f"{' and '.join(ways)}: {', '.join(record.what)}. What they say is in no "
                "finding, and absence proves nothing.",
                severity=Severity.INFO,
                count=seen.count,
                advice=self.advise(self.Data(how="unread")),
                data=self.Data(how="unread", lines=seen.count),
            )

    def _shortened(self, left_out: Table[LeftOut]) -> Iterator[Finding]:
        for seen in left_out:
            record = seen.record
            yield self.finding(
                "shortened",
                title=f"the recording leaves {record.lines:,} lines out",
                message=f"Between the log's head and its tail {record.lines:,} lines "
                f"({size(record.bytes)}) were not kept: counts are lower bounds.",
                evidence=[seen.quote("what was left out")],
                harmless="what it holds is judged as far as it goes",
                advice=self.advise(self.Data(how="shortened")),
                data=self.Data(how="shortened", lines=record.lines),
            )


# Few logs hold any of it, and what tells of it knows many words: it is imported for those.


def _rests(
    fragments: Table[Fragment], notes: Table[TorchNote], errors: Table[LogError], evidence: Evidence
) -> Iterator[_parts.Part]:
    """Yield what is left of torch's messages."""
    from tracelens.rules.log import _rests  # noqa: PLC0415

    yield from _rests.of(fragments, notes, errors, evidence.kinds)


def _others(
    tuned: Table[KernelTuned],
    steps: Table[SearchStep],
    done: Table[SearchDone],
    nodes: Table[NodeExec],
    foreign: Table[ForeignLine],
    *,
    evidence: Evidence,
) -> Iterator[_parts.Part]:
    """Yield what other tools wrote."""
    from tracelens.rules.log import _others  # noqa: PLC0415

    yield from _others.triton(tuned)
    yield from _others.helion(steps, done)
    yield from _others.openvino(nodes)
    yield from _others.foreign(foreign, evidence.kinds)
