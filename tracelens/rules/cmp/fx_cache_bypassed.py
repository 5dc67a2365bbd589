"""CMP002 fx-cache-bypassed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tracelens.dynamo.cache_lookups import CacheUse
from tracelens.evidence import Seen, Table
from tracelens.experiment import EMPTY_CACHES
from tracelens.report import Advice, Cost, Finding, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.logs.inductor_debug import CacheBypass
    from tracelens.logs.torch_trace import CompilationMetrics

__all__ = ["FxCacheBypassed"]


class _Cause(NamedTuple):
    """A reason that torch gives, by words that are in it."""

    words: tuple[str, ...]
    what: str
    advice: tuple[Advice, ...] = ()
    #: Whether somebody asked for it.
    asked: bool = False


_OFF = _Cause(
    ("not enabled", "disabled", "FX cache disabled"),
    "the cache is switched off",
    asked=True,
)
_CAUSES = (
    _OFF,
    _Cause(
        ("freezing", "frozen", "mkldnn tensors"),
        "freezing makes parameters constants of the graph",
        (
            Advice(
                text="Where starts are frequent, compile ahead of time instead.",
                code="torch._inductor.aoti_compile_and_package(torch.export.export(model, (x,)))",
                since="2.6",
            ),
        ),
    ),
    _Cause(
        ("custom pass", "custom_pass"),
        "a graph pass of the program has no identity",
        (
            Advice(
                text="Derive the pass from CustomGraphPass, and return from uuid() what changes "
                "when its code changes.",
                code="from torch._inductor.custom_graph_pass import CustomGraphPass",
                since="2.6",
            ),
        ),
    ),
    _Cause(
        ("call_function target", "call_method"),
        "the graph calls a function that the cache does not know",
        (
            Advice(
                text="If the function has no state, name it to the cache, with a version.",
                setting="torch._inductor.config.unsafe_marked_cacheable_functions = "
                '{"package.function": "1"}',
                since="2.7",
            ),
        ),
    ),
    _Cause(
        ("context_fn",),
        "selective checkpointing has a function without an identity",
        (Advice(text="Give it an attribute cache_hash.", code='context_fn.cache_hash = "1"'),),
    ),
    _Cause(("HigherOrder",), "the graph has an operator that this version cannot cache"),
    _Cause(("pickle", "unpickl"), "a part of the graph cannot be written to a file"),
)


class FxCacheBypassed(Rule):
    """A compiled graph cannot be kept in the cache: each start compiles it again.

    ## Why it matters
    The second start of a program finds its graphs in the cache of Inductor and compiles nothing. A
    graph that the cache refuses is compiled at every start, on every rank, and nothing says so but
    a line of the log.

    ## What it looks like
    With ``TORCH_LOGS="inductor"`` (and ``aot`` for the cache of AOTAutograd), since torch 2.5; the
    structured log has the same:

        I1120 14:42:01.372000 6818 torch/_inductor/codecache.py:2247] [0/0] Bypassing FX Graph Cache because 'Unsupported post grad custom pass'

    ## When it is harmless
    Where the program starts once and runs for long. A cache that was switched off, as
    ``TORCH_COMPILE_DEBUG=1`` does, has severity ``none``.

    ## What to do
    It depends on the reason, which the finding translates.

    ## How a live run confirms it
    The program is started twice with one cache directory, as it is and changed. Confirmed when the
    second start of the changed one finds the graph, and compiles in a fraction of the time.

    ## See also
    CMP001 (what a start costs), CMP003 (a graph that could have been found).
    <https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "CMP002"
    name = "fx-cache-bypassed"
    severity = Severity.INFO
    unconfirmable = EMPTY_CACHES

    def check(
        self,
        uses: Table[CacheUse],
        *,
        bypasses: Table[CacheBypass],
        metrics: Table[CompilationMetrics],
    ) -> Iterator[Finding]:
        """Yield one finding per cause: the two caches often give two reasons for one."""
        del uses  # without them nobody listened
        groups: dict[str, list[Seen[CacheBypass]]] = {}
        for row in bypasses:
            cause = _cause(row.record.reason)
            groups.setdefault(cause.what if cause else row.record.reason, []).append(row)
        for what, rows in groups.items():
            yield self._finding(what, _cause(rows[0].record.reason), rows, metrics)

    def _finding(
        self,
        what: str,
        cause: _Cause | None,
        rows: list[Seen[CacheBypass]],
        metrics: Table[CompilationMetrics],
    ) -> Finding:
        graphs = sorted({frame for row in rows for frame in row.frames if frame})
        times = [
            row.record.entire_frame_compile_time_s or 0.0
            for row in metrics
            if row.first.frame in graphs
        ]
        number, them = ("a compilation", "it")
        if len(graphs) > 1:
            number, them = f"{len(graphs)} compilations", "them"
        reasons = "; ".join(dict.fromkeys(f"`{row.record.reason}`" for row in rows))
        asked = cause is not None and cause.asked
        return self.finding(
            what,
            title=f"{number} cannot be kept in the cache: {what}",
            message=f"Each start of the program compiles {them} again. Torch says: {reasons}.",
            severity=Severity.NONE if asked else self.severity,
            count=sum(row.count for row in rows),
            evidence=[row.quote() for row in rows[:3]],
            cost=Cost(ms=sum(times) * 1000, basis="upper_bound", of="time to compile, per start")
            if any(times) and not asked
            else None,
            advice=cause.advice if cause else (),
        )


def _cause(reason: str) -> _Cause | None:
    return next((cause for cause in _CAUSES if any(w in reason for w in cause.words)), None)
