"""CMP002 fx-cache-bypassed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tracelens.dynamo.cache_lookups import CacheUse
from tracelens.evidence import Seen, Table
from tracelens.experiment import EMPTY_CACHES
from tracelens.remedies import Remedy
from tracelens.report import Cost, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import few

if TYPE_CHECKING:
    from tracelens.logs.inductor_debug import CacheBypass
    from tracelens.logs.torch_trace import CompilationMetrics

__all__ = ["FxCacheBypassed"]


class _Cause(NamedTuple):
    """A reason that torch gives, by words that are in it."""

    key: str
    words: tuple[str, ...]
    what: str


_OFF = "off"
_CAUSES = (
    _Cause(_OFF, ("not enabled", "disabled", "FX cache disabled"), "the cache is switched off"),
    _Cause(
        "freezing",
        ("freezing", "frozen", "mkldnn tensors"),
        "freezing makes parameters constants of the graph",
    ),
    _Cause("pass", ("custom pass", "custom_pass"), "a graph pass of the program has no identity"),
    _Cause(
        "function",
        ("call_function target", "call_method"),
        "the graph calls a function that the cache does not know",
    ),
    _Cause(
        "checkpoint", ("context_fn",), "selective checkpointing has a function without an identity"
    ),
    _Cause(
        "operator", ("HigherOrder",), "the graph has an operator that this version cannot cache"
    ),
    _Cause("pickle", ("pickle", "unpickl"), "a part of the graph cannot be written to a file"),
)


class BypassData(FindingData):
    """Graphs that the cache refused for one reason."""

    #: ``off``, ``freezing``, ``pass``, ``function``, ``checkpoint``, ``operator``, ``pickle``;
    #: empty for a reason that is not known.
    cause: str
    #: What torch says, without repetitions.
    reasons: tuple[str, ...]
    #: Compilations that are repeated at each start, and what they took in this one, where known.
    compilations: int
    seconds: float | None = None


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
    Data = BypassData
    remedies = (
        Remedy(
            "aot",
            "Where starts are frequent, compile ahead of time instead: "
            "`torch._inductor.aoti_compile_and_package` of the exported model.",
            when="freezing",
            applies=lambda data: data.cause == "freezing",
            since="2.6",
            proof="https://docs.pytorch.org/docs/stable/torch.compiler_aot_inductor.html",
        ),
        Remedy(
            "pass-uuid",
            "Derive the pass from CustomGraphPass, and return from uuid() what changes when its "
            "code changes.",
            when="a graph pass of the program",
            applies=lambda data: data.cause == "pass",
            code="from torch._inductor.custom_graph_pass import CustomGraphPass",
            since="2.6",
            basis="tested",
            proof="tests/advice/CMP002/pass-uuid.py",
        ),
        Remedy(
            "mark-cacheable",
            "If the function has no state, name it to the cache with a version, in "
            "`torch._inductor.config.unsafe_marked_cacheable_functions`.",
            when="a function that the cache does not know",
            applies=lambda data: data.cause == "function",
            since="2.8",
            proof="torch/_inductor/config.py",
        ),
        Remedy(
            "checkpoint-hash",
            "Give the function that is passed as `context_fn` an attribute `cache_hash`, a text "
            "that changes when the function does.",
            when="selective checkpointing",
            applies=lambda data: data.cause == "checkpoint",
            proof="torch/_functorch/_aot_autograd/autograd_cache.py",
        ),
    )

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
        data = BypassData(
            cause=cause.key if cause else "",
            reasons=tuple(dict.fromkeys(row.record.reason for row in rows)),
            compilations=max(len(graphs), 1),
            seconds=sum(times) if any(times) else None,
        )
        number, them = ("a compilation", "it")
        if len(graphs) > 1:
            number, them = f"{len(graphs)} compilations", "them"
        reasons = "; ".join(f"`{reason}`" for reason in data.reasons)
        return self.finding(
            what,
            title=f"{number} cannot be kept in the cache: {what}",
            message=f"Each start of the program compiles {them} again. Torch says: {reasons}.",
            harmless="it was switched off on purpose" if data.cause == _OFF else None,
            count=sum(row.count for row in rows),
            evidence=[row.quote() for row in few(rows)],
            cost=_cost(data),
            advice=self.advise(data),
            data=data,
        )


def _cost(data: BypassData) -> Cost | None:
    if data.seconds is None or data.cause == _OFF:
        return None
    return Cost(ms=data.seconds * 1000, basis="upper_bound", of="time to compile, per start")


def _cause(reason: str) -> _Cause | None:
    return next((cause for cause in _CAUSES if any(w in reason for w in cause.words)), None)
