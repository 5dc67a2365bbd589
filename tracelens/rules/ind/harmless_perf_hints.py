"""IND026 harmless-perf-hints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.evidence import Table
from tracelens.report import EvidenceLine, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import plural

if TYPE_CHECKING:
    from tracelens.logs.kineto import ProfilerLine
    from tracelens.logs.perf_hints import PaddingSkipped
    from tracelens.logs.warnings import TorchWarning

__all__ = ["HarmlessPerfHints"]

MAX_QUOTED = 4
#: Topics of warnings that say nothing about the program.
_WARNINGS = {
    "enum-constant": "an enumeration is treated as a constant",
    "profiler-memory": "the profiler was started after some memory was allocated",
    "typed-storage": "a class is used that torch itself has deprecated",
}
_PADDING = "tensors are not padded, as it should be"
_STEP = "the profiler's own steps"


class HarmlessPerfHints(Rule):
    """Lines that look like advice or like trouble, and are neither.

    ## Why it matters
    It does not: this page is for those who find such a line and wonder.

    ## What it looks like
    Inductor says once per graph that it does not pad tensors, which is for GPUs:

        [0/0] [__perf_hints] Skip comprehensive padding on CPU

    Others are the profiler's own steps (``USDT:... profiler_start``), the warning that
    ``TypedStorage is deprecated``, which torch raises in its own code, enumerations that become
    constants, and memory blocks from before profiling started.

    ## When it is harmless
    Always. They are counted in one note of severity ``none``.

    ## What to do
    Nothing.

    ## How a live run confirms it
    There is nothing to confirm.

    ## See also
    GBR017 for ``Profiler record function ... will be ignored``.
    """

    code = "IND026"
    name = "harmless-perf-hints"
    severity = Severity.NONE
    moved_by: ClassVar = {"skipped": (), "warnings.topic": set(_WARNINGS), "steps": ()}
    unconfirmable = "it is harmless: there is nothing to change"

    class Data(FindingData):
        """What the lines say, and how many there are."""

        lines: dict[str, int]

    def check(
        self,
        *,
        skipped: Table[PaddingSkipped],
        warnings: Table[TorchWarning],
        steps: Table[ProfilerLine],
    ) -> Iterator[Finding]:
        """Yield one note that counts them all."""
        counts: Counter[str] = Counter()
        lines: list[EvidenceLine] = []
        for seen in skipped:
            counts[_PADDING] += seen.count
            lines.append(seen.quote(_PADDING))
        for warning in warnings.where(_is_known):
            what = _WARNINGS[warning.record.topic]
            counts[what] += warning.count
            lines.append(warning.quote(what))
        for step in steps.where(_is_step):
            counts[_STEP] += step.count
            lines.append(step.quote(_STEP))
        if not lines:
            return
        told = "; ".join(f"{what} ({plural(count, 'line')})" for what, count in counts.items())
        total = sum(counts.values())
        yield self.finding(
            "harmless",
            title=f"{plural(total, 'harmless line')}",
            message=f"{told[0].upper()}{told[1:]}.",
            harmless="they say nothing about the program",
            data=self.Data(lines=dict(counts)),
            count=total,
            evidence=lines[:MAX_QUOTED],
        )


def _is_known(warning: TorchWarning) -> bool:
    return warning.topic in _WARNINGS


def _is_step(line: ProfilerLine) -> bool:
    return line.level in {"STAGE", "USDT"}
