"""TUN004 configs-out-of-resources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo.run_facts import InRun
from tracelens.evidence import Seen, Table
from tracelens.inductor.autotune_drops import Search, dropped, measured, quote
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import plural

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.failures import Failure as Ending
    from tracelens.logs.autotune import AutotuneTable

__all__ = ["ConfigsOutOfResources"]

#: Lines quoted.
MAX_QUOTED = 4
_NEEDED = re.compile(r"Required: *(\d{1,12}),? *Hardware limit: *(\d{1,12})")
_LEFT = re.compile(r"Ignoring this choice")


class ConfigsOutOfResources(Rule):
    """Candidate kernels were dropped because they need more shared memory than this GPU has.

    ## Why it matters
    It reads like an error, and some versions write it as one. It is how the search finds its
    limits: the same list of tile sizes is tried on every GPU, and the largest fit only into the
    shared memory of data-centre models. What is lost is the time to compile them.

    ## What it looks like
    An error that ends with ``Ignoring this choice``, or a warning of one line:

        E1120 10:00:02.000000 4242 torch/_inductor/select_algorithm.py:2100] [7/0] Runtime error during autotuning:
        E1120 10:00:02.000000 4242 torch/_inductor/select_algorithm.py:2100] [7/0] No valid triton configs. OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 101376. Reducing block sizes or `num_stages` may help..
        E1120 10:00:02.000000 4242 torch/_inductor/select_algorithm.py:2100] [7/0] Ignoring this choice.

        W1120 10:00:03.000000 4242 torch/_inductor/select_algorithm.py:5081] [0/0] out of resource: shared memory, Required: 147456, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.

    ## When it is harmless
    Always, as long as other templates could be measured. Where none could, TUN005 says so. A
    traceback with ``OutOfResources`` that ends the program is another matter: there a kernel has no
    smaller configuration.

    ## What to do
    Nothing. Where the lines disturb, let Inductor leave such configurations out by an estimate,
    which also leaves out a few that would fit.

    ## How a live run confirms it
    It does not: how much shared memory a GPU has is a fact of the hardware.

    ## See also
    TUN005 for shapes on which no template was left.
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "TUN004"
    name = "configs-out-of-resources"
    severity = Severity.NONE
    unconfirmable = "it is about single candidates of a table, which the table already shows"

    class Data(InRun):
        """Candidates that need more shared memory than there is, in bytes."""

        candidates: int
        required: int
        limit: int | None
        #: Templates that were measured all the same.
        measured: int

    remedies = (
        Remedy(
            id="prune",
            text="Nothing has to be done. What is estimated not to fit can be left out beforehand.",
            env="TORCHINDUCTOR_MAX_AUTOTUNE_PRUNE_CHOICES_BASED_ON_SHARED_MEM=1",
            since="2.10",
            basis="untestable",
            proof="needs a GPU",
        ),
    )

    def check(
        self,
        *,
        searches: Table[Search],
        endings: Table[Ending],
        tables: Table[AutotuneTable],
        run: Table[RunFacts],
    ) -> Iterator[Finding]:
        """Yield one note for the whole log."""
        rows = dropped(searches, "memory")
        if not rows:
            left = endings.where(lambda one: one.cause == "choice-left-out")
            pasted = [one for one in left if "out of resource" in one.text]
            yield from map(self._pasted, pasted)
            if not pasted and all(row.record.drop is None for row in searches):
                yield from self._without_time(list(tables), run)
            return
        count = sum(row.count for row, _ in rows)
        most = max((drop.required or 0 for _, drop in rows), default=0)
        limit = next((drop.limit for _, drop in rows if drop.limit), None)
        need = f"up to {most:,} bytes of shared memory; this GPU has {limit:,}" if limit else ""
        ran = measured(searches)
        data = self.Data.of(run, candidates=count, required=most, limit=limit, measured=ran)
        yield self.finding(
            "shared memory",
            title=f"{plural(count, 'candidate kernel')} did not fit on this GPU",
            message=(
                f"Needed: {need or 'more shared memory than this GPU has'}. The search went on "
                "without." + (f" {ran} other templates were measured." if ran else "")
            ),
            count=count,
            evidence=[quote(row, drop) for row, drop in rows[:MAX_QUOTED]],
            harmless="it costs the time to compile them, and is no error",
            advice=self.advise(data),
            data=data,
        )

    def _without_time(
        self, tables: list[Seen[AutotuneTable]], run: Table[RunFacts]
    ) -> Iterator[Finding]:
        """Yield that rows have no time, where the lines that say why were not pasted."""
        found = [
            (row, one)
            for row in tables
            if row.record.best is not None
            for one in row.record.choices
            if not one.ran and one.is_template
        ]
        if not found:
            return
        row, first = found[0]
        data = self.Data.of(run, candidates=len(found), required=0, limit=None, measured=0)
        yield self.finding(
            "without time",
            title=f"{plural(len(found), 'candidate kernel')} did not run",
            message=f"`{first.kernel}` has an infinite time. Most often a candidate needs more "
            "shared memory or registers than the GPU has; the line that says so is not in the log. "
            "The search went on without.",
            confidence=Confidence.MEDIUM,
            count=len(found),
            evidence=[row.quote(at=first.at)],
            harmless="the candidates that ran are measured, and it is no error",
            advice=self.advise(data),
            data=data,
        )

    def _pasted(self, seen: Seen[Ending]) -> Finding:
        """Return the note of lines that were copied without torch's prefix."""
        found = _NEEDED.findall(seen.text)
        needed = max((int(one) for one, _ in found), default=0)
        limit = next((int(one) for _, one in found), None)
        count = max(1, len(_LEFT.findall(seen.text)))
        return self.finding(
            "shared memory",
            title=f"{plural(count, 'candidate kernel')} did not fit on this GPU",
            message="Needed: "
            + (
                f"up to {needed:,} bytes of shared memory; this GPU has {limit:,}."
                if limit
                else "more shared memory than this GPU has."
            )
            + " The search goes on without; where no candidate is left, an error says so.",
            count=count,
            evidence=[seen.quote(at=seen.record.at)],
            harmless="it costs the time to compile them, and is no error",
            advice=self.advise(
                data := self.Data(candidates=count, required=needed, limit=limit, measured=0)
            ),
            data=data,
        )
