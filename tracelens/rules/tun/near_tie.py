"""TUN003 near-tie."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.inductor.autotune_search import Key, key, kind
from tracelens.inductor.autotune_tables import label
from tracelens.inductor.tuning_data import TuningData
from tracelens.logs.autotune import AutotuneTable, Choice
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import length

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts

__all__ = ["NearTie"]

#: The best time as a share of the next one from which on the two are a tie.
TIE = 0.97
#: Tables told apart in a message and quoted.
MAX_TOLD = 4

Rows = list[Seen[AutotuneTable]]


class NearTie(Rule):
    """The two best candidates are as fast as each other: another run may choose the other one.

    ## Why it matters
    The step takes the same time either way. But a library call and a template round differently and
    fuse different things, so that results, memory and kernel names differ between runs, and between
    the ranks of one run.

    ## What it looks like
    The second row has 97 % or more:

        AUTOTUNE linear_unary(192x1024, 512x1024, 512)
          cpp_CppMicroGemmFP32Vec_2 6.4249 ms 100.0%
          _linear_pointwise 6.4506 ms 99.6%

    ## When it is harmless
    Always, for speed. A tie alone is a note. It is more than a note when the log holds the same
    search twice with different winners: then the choice did change.

    ## What to do
    Nothing; or, where runs must not differ, keep the cache of one run for all others, or allow one
    backend only.

    ## How a live run confirms it
    The search is repeated three times with empty caches. Confirmed when the winner changes, refuted
    when it stays.

    ## See also
    TUN001 for winners that are random because the machine was busy, TUN009 for searches that are
    repeated.
    """

    code = "TUN003"
    name = "near-tie"
    severity = Severity.INFO
    unconfirmable = "the candidates are equally fast: there is nothing to change"

    class Data(TuningData):
        """Shapes whose two best candidates are as fast as each other."""

        shapes: int
        #: Different candidates won in different searches.
        has_changed: bool

    remedies = (
        Remedy(
            id="keep-choices",
            text="Keep the choices of one run for all others, where runs must not differ: give "
            "them one cache folder that lasts (TORCHINDUCTOR_CACHE_DIR).",
            when="the winner changed",
            applies=lambda data: data.has_changed,
            proof="https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html",
        ),
        Remedy(
            id="one-backend",
            text="Or allow one backend only.",
            when="the winner changed",
            applies=lambda data: data.has_changed,
            setting='torch._inductor.config.max_autotune_gemm_backends = "ATEN"',
            env="TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS=ATEN",
            proof="https://docs.pytorch.org/tutorials/unstable/max_autotune_on_CPU_tutorial.html",
        ),
    )

    def check(self, tables: Table[AutotuneTable], *, run: Table[RunFacts]) -> Iterator[Finding]:
        """Yield one finding about ties whose winner changed, and a note about the others."""
        searches: defaultdict[Key, Rows] = defaultdict(list)
        for row in tables:
            if row.record.best is not None and row.record.sizes:
                searches[key(row.record)].append(row)
        changed: list[Rows] = []
        # Tables without their head may be of one shape or of several.
        ties: Rows = [row for row in tables if not row.record.sizes and _tied(row.record)]
        for rows in searches.values():
            if not any(_tied(row.record) for row in rows):
                continue
            if len(_winners(rows)) > 1:
                changed.append(rows)
            else:
                ties.append(_closest(rows))
        if changed:
            yield self._changed(changed, run)
        if ties:
            yield self._ties(ties, run)

    def _changed(self, groups: list[Rows], run: Table[RunFacts]) -> Finding:
        closests = [_closest(rows) for rows in groups]
        data = self.Data.about(run, closests, shapes=len(groups), has_changed=True)
        rows = groups[0]
        winners = _winners(rows)
        names = " and ".join(f"`{choice.kernel}`" for choice in winners.values())
        more = f" So it is on {len(groups) - 1} more." if len(groups) > 1 else ""
        closest = _closest(rows).record
        times = [choice.ms for choice in closest.ranked if kind(choice) in winners]
        gap = f", {1 - min(times) / max(times):.1%} apart in one of the tables" if times else ""
        return self.finding(
            "changed",
            title=f"the winner changed between two searches on {_shapes(len(groups))}",
            message=(
                f"{label(closest)} was tuned {_times(rows)}, and {names} won in turn"
                f"{gap}.{more} Results may differ in the last digits from run to run."
            ),
            confidence=Confidence.HIGH if closest.strides else Confidence.MEDIUM,
            count=len(groups),
            evidence=[_quote(row) for rows in groups[:MAX_TOLD] for row in rows[:MAX_TOLD]],
            advice=self.advise(data),
            data=data,
        )

    def _ties(self, rows: Rows, run: Table[RunFacts]) -> Finding:
        data = self.Data.about(run, rows, shapes=len(rows), has_changed=False)
        told = "; ".join(f"{label(row.record)}: {_apart(row.record)}" for row in rows[:MAX_TOLD])
        return self.finding(
            "tie",
            title=f"{_shapes(len(rows))} tuned to a tie",
            message=f"{told}.",
            harmless="the step takes the same time whichever wins",
            data=data,
            count=len(rows),
            evidence=[_quote(row) for row in rows[:MAX_TOLD]],
        )


def _tied(table: AutotuneTable) -> bool:
    best, second = (*table.ranked, None, None)[:2]
    return best is not None and second is not None and best.ms >= second.ms * TIE > 0


def _winners(rows: Rows) -> dict[tuple[str, str], Choice]:
    """Return the different kernels that won, by what tells them apart."""
    return {kind(row.record.best): row.record.best for row in rows if row.record.best is not None}


def _closest(rows: Rows) -> Seen[AutotuneTable]:
    return min(rows, key=lambda row: row.record.lead or float("inf"))


def _apart(table: AutotuneTable) -> str:
    """Say how close the two best are."""
    best, second = table.ranked[:2]
    return (
        f"`{best.kernel}` and `{second.kernel}` are {1 - best.ms / second.ms:.1%} apart"
        if best.ms < second.ms
        else f"`{best.kernel}` and `{second.kernel}` both take {length(best.ms)}"
    )


def _shapes(count: int) -> str:
    return f"{count} shapes" if count > 1 else "one shape"


def _times(rows: Rows) -> str:
    count = sum(row.count for row in rows)
    return "twice" if count == 2 else f"{count} times"


def _quote(row: Seen[AutotuneTable]) -> EvidenceLine:
    second = row.record.ranked[1] if len(row.record.ranked) > 1 else row.record.ranked[0]
    best = row.record.ranked[0]
    return row.quote(f"{best.kernel} won with {length(best.ms)}", at=second.at)
