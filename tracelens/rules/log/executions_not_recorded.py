"""LOG007 executions-not-recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from tracelens.evidence import Table
from tracelens.experiment import ABOUT_THE_LOG
from tracelens.logs import Record
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, FindingData, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.evidence import Evidence
    from tracelens.logs.onednn_verbose import (
        CreateCheck,
        DispatchRejection,
        ExecCheck,
        LibraryRejection,
        LibraryVersion,
        Notice,
        PrimitiveCreate,
        PrimitiveExec,
    )

__all__ = ["ExecutionsNotRecorded"]

#: What lines of executions hold.
_EXEC = ",exec,"
R = TypeVar("R", bound=Record)


class ExecutionsNotRecorded(Rule):
    """oneDNN's lines tell what was created or refused, but not what ran.

    ## Why it matters
    Only executions show which implementation was used, how often, and how long it took. With
    ``ONEDNN_VERBOSE=dispatch`` alone, which is the setting for questions about refusals, a product
    on a reference kernel that nothing refused does not appear in the log at all.

    ## What it looks like
    Refusals, creations or argument checks, and not one ``exec`` line:

        onednn_verbose,v1,primitive,create:dispatch,matmul,cpu,matmul,brg:sve_512,undef,src:bf16::blocked:ab::f0 wei:bf16:a:any:any::f0 dst:bf16::blocked:ab::f0,attr-scratchpad:user,,64x64:64x64,unsupported isa,src/cpu/aarch64/matmul/brgemm_matmul.cpp:99

    ## When it is harmless
    When the program really executed nothing: a header alone is not reported. A log that was cut
    before the first execution may show the same; LOG001 says so.

    ## What to do
    Record again with executions and refusals. ``all`` works as well, but for models of the graph
    interface nearly all of its lines are attempts to match patterns.

    ## How a live run confirms it
    The workload runs with ``ONEDNN_VERBOSE=profile,dispatch``. Confirmed when executions appear.

    ## See also
    ONE001; <https://uxlfoundation.github.io/oneDNN/dev_guide_verbose.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "LOG007"
    name = "executions-not-recorded"
    severity = Severity.WARNING
    claim = "absence"
    unconfirmable = ABOUT_THE_LOG

    class Data(FindingData):
        """What the log holds instead of executions, or the filter that hides some."""

        #: Kinds of lines, with their numbers.
        held: tuple[str, ...] = ()
        is_filtered: bool = False

    remedies = (
        Remedy(
            id="executions",
            text="Record executions and refusals.",
            env="ONEDNN_VERBOSE=profile,dispatch",
            proof="https://uxlfoundation.github.io/oneDNN/dev_guide_verbose.html",
        ),
        Remedy(
            id="older",
            text="Before oneDNN 3.1 (torch 2.0), numbers only.",
            env="ONEDNN_VERBOSE=2",
            proof="https://uxlfoundation.github.io/oneDNN/dev_guide_verbose.html",
        ),
    )

    def check(
        self,
        versions: Table[LibraryVersion],
        *,
        execs: Table[PrimitiveExec],
        creates: Table[PrimitiveCreate],
        dispatches: Table[DispatchRejection],
        library: Table[LibraryRejection],
        created: Table[CreateCheck],
        executed: Table[ExecCheck],
        notices: Table[Notice],
        evidence: Evidence,
    ) -> Iterator[Finding]:
        """Yield one finding where nothing that was executed is in the log."""
        del versions
        if any(one.kind == "onednn_verbose" and _EXEC in one.text for one in evidence.unread):
            return  # one is there, which was cut
        if len(execs):
            yield from self._filtered(notices, execs)
            return
        held = [
            *_first(creates, "creation"),
            *_first(dispatches, "refusal"),
            *_first(library, "refusal of libraries"),
            *_first(created, "check of arguments"),
            *_first(executed, "check of executions"),
        ]
        if not held:
            return
        data = self.Data(held=tuple(line.note for line in held))
        yield self.finding(
            "nothing executed",
            title="what oneDNN executed is not in the log",
            message=(
                f"The log holds {' and '.join(line.note for line in held)}, and no execution: "
                "which implementations ran, and how long, is not known. A reference kernel would "
                "be invisible."
            ),
            confidence=Confidence.HIGH if len(executed) or len(creates) else Confidence.MEDIUM,
            evidence=held[:3],
            advice=self.advise(data),
            data=data,
        )

    def _filtered(self, notices: Table[Notice], execs: Table[PrimitiveExec]) -> Iterator[Finding]:
        """Say that a filter hides the other primitives."""
        filters = [row for row in notices if "hit components" in row.record.note]
        if filters:
            kinds = ", ".join(sorted({row.record.primitive for row in execs}))
            yield self.finding(
                "filtered",
                title=f"a filter lets only {kinds} into the log",
                message="ONEDNN_VERBOSE has a filter.",
                harmless="totals and shares are those of what it lets through",
                data=self.Data(is_filtered=True),
                evidence=[row.quote("the filter") for row in filters[:1]],
            )


def _first(table: Table[R], name: str) -> Iterator[EvidenceLine]:
    """Yield the first line of ``table``, with how many there are."""
    for row in table:
        noun, _, rest = name.partition(" ")
        number = f"{table.count} {noun}" if table.count == 1 else f"{table.count} {noun}s"
        yield row.quote(f"{number} {rest}".strip())
        return
