"""TUN013 choice-timed-out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from tracelens.dynamo.run_facts import InRun
from tracelens.evidence import Seen, Table
from tracelens.inductor.autotune_drops import Drop, Search, dropped, measured, quote
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts

__all__ = ["ChoiceTimedOut"]

#: Lines quoted.
MAX_QUOTED = 3

Lost = list[tuple[Seen[Search], Drop]]


class ChoiceTimedOut(Rule):
    """A candidate crashed or took too long while it was tuned, and was left out.

    ## Why it matters
    The search goes on without it, and the compiled model is right. But the candidate may have been
    the fastest, and each timeout is a minute or more of the start-up time.

    ## What it looks like
    A warning of Python or of the log, or an error that ends with ``Ignoring this choice``:

        W1120 10:00:04.000000 4242 torch/_inductor/select_algorithm.py:4632] [0/0] Precompilation timeout after 300s: 2 of 20 futures did not complete
        W1120 10:00:04.000000 4242 torch/_inductor/select_algorithm.py:4641] [0/0] Marking choice as failed due to timeout: TritonTemplateCaller(/tmp/torchinductor_ana/ab/cab.py, BLOCK_K=128, num_stages=5)

    ## When it is harmless
    When other templates of the shape ran, and it stays the only one. Candidates that do not fit on
    the GPU are TUN004, and shapes that lost every template are TUN005.

    ## What to do
    Compile with more threads, or give the search more time, if candidates only ran out of it. A
    candidate that crashes is a bug of the template or of the compiler below it: report it, with the
    line that names its parameters.

    ## How a live run confirms it
    The program is compiled again with ten times the limit. Confirmed when the candidate is lost
    again; refuted when it is in the table.

    ## See also
    TUN004, TUN005, and ENV001 for machines on which everything takes too long.
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "TUN013"
    name = "choice-timed-out"
    severity = Severity.INFO
    unconfirmable = "it is about single candidates of a table, which the table already shows"

    class Data(InRun):
        """Candidates that were lost, by time or by a crash."""

        why: Literal["timeout", "crash"]
        candidates: int
        message: str = ""

    remedies = (
        Remedy(
            id="time-to-compile",
            text="Give candidates more time to compile, in seconds (300 by default).",
            when="candidates timed out",
            applies=lambda data: data.why == "timeout",
            env="TORCHINDUCTOR_PRECOMPILATION_TIMEOUT_SECONDS=1200",
            since="2.11",
            basis="untestable",
            proof="needs a GPU and a slow compiler",
        ),
        Remedy(
            id="time-to-measure",
            text="Give the child process more time to measure, in seconds (60 by default).",
            when="candidates timed out",
            applies=lambda data: data.why == "timeout",
            setting="torch._inductor.config.max_autotune_subproc_result_timeout_seconds = 300",
            since="2.4",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            id="subprocess",
            text="Tune in a child process, so that a crash does not spoil the measurements after "
            "it.",
            when="candidates crashed",
            applies=lambda data: data.why == "crash",
            setting="torch._inductor.config.autotune_in_subproc = True",
            env="TORCHINDUCTOR_AUTOTUNE_IN_SUBPROC=1",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            id="report",
            text="Report the line that names the candidate's parameters to PyTorch.",
            when="candidates crashed",
            applies=lambda data: data.why == "crash",
            basis="untestable",
            proof="it is a report",
        ),
    )

    def check(self, searches: Table[Search], *, run: Table[RunFacts]) -> Iterator[Finding]:
        """Yield one finding about lost time and one about crashes."""
        if timeouts := dropped(searches, "timeout"):
            yield self._timeouts(timeouts, run)
        # Where no template ran at all, TUN005 tells the errors.
        if (crashes := dropped(searches, "failed")) and measured(searches):
            yield self._crashes(crashes, run)

    def _timeouts(self, rows: Lost, run: Table[RunFacts]) -> Finding:
        count = _count(rows)
        data = self.Data.of(run, why="timeout", candidates=count)
        several = f"{count} candidate kernels were" if count > 1 else "a candidate kernel was"
        return self.finding(
            "timeout",
            title=f"{several} given up after the time limit",
            message=(
                "The search did not wait until it was compiled or measured, and went on without. "
                "What is lost may be faster than the kernel that was chosen."
            ),
            count=count,
            evidence=[quote(row, drop) for row, drop in rows[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )

    def _crashes(self, rows: Lost, run: Table[RunFacts]) -> Finding:
        count = _count(rows)
        said = next((drop.message for _, drop in rows if drop.message), "")
        data = self.Data.of(run, why="crash", candidates=count, message=said)
        several = f"{count} candidate kernels" if count > 1 else "a candidate kernel"
        why = next((f" ({drop.message.rstrip('. ')})" for _, drop in rows if drop.message), "")
        return self.finding(
            "crash",
            title=f"{several} failed while being tuned",
            message=(
                f"The search went on without{why} and measured the others. The result is right; "
                "what is lost may have been the fastest."
            ),
            count=count,
            evidence=[quote(row, drop) for row, drop in rows[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )


def _count(rows: Lost) -> int:
    """Return how many candidates there are: a record that names one counts, a summary does not."""
    named = [row for row, _ in rows if "Precompilation timeout" not in row.text]
    return sum(row.count for row in named) or sum(row.count for row, _ in rows)
