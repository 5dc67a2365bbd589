"""CMP003 fx-cache-missed-when-warm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tracelens.dynamo.cache_lookups import CacheUse, Lookup, successive
from tracelens.evidence import Table
from tracelens.experiment import EMPTY_CACHES
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import and_more

if TYPE_CHECKING:
    from tracelens.logs.inductor_debug import CacheEvent, CompileThreads, HashDetails

__all__ = ["FxCacheMissedWhenWarm"]

#: Parts of a cache key that are named.
MAX_PARTS = 4
MAX_QUOTED = 2
#: The graph itself, and its inputs: with another graph there is nothing to compare.
GRAPH = ("gm", "example_inputs")


class MissData(FindingData):
    """Graphs of an earlier start that a later one did not find."""

    #: Parts of the key that changed; none where the same key was no longer there.
    parts: tuple[str, ...] = ()
    #: Keys that were asked for in vain.
    keys: int


class FxCacheMissedWhenWarm(Rule):
    """A later start of the program compiled graphs that an earlier one had put in the cache.

    ## Why it matters
    A warm start should take seconds. When the cache is asked for the very key that an earlier start
    had stored and does not have it, the directory was lost: a container without a volume, a
    directory per job, a cleaned ``/tmp``. When the key of the same graph is another one, a setting
    or a version changed, and every graph is compiled again.

    ## What it looks like
    The same key is missed in two starts (``TORCH_LOGS="inductor"``, since torch 2.3):

        I1120 14:41:29.298000 6559 torch/_inductor/config.py:1367] compile_threads set to 2
        I1120 14:41:34.000000 6559 torch/_inductor/codecache.py:2316] [0/0] fx graph cache miss for key foxesgmgmjjlyhfxreqxshezllvp4ivcudvkdipyg6jfn7fvviju
        I1120 14:51:02.298000 7001 torch/_inductor/config.py:1367] compile_threads set to 2
        I1120 14:51:07.000000 7001 torch/_inductor/codecache.py:2316] [0/0] fx graph cache miss for key foxesgmgmjjlyhfxreqxshezllvp4ivcudvkdipyg6jfn7fvviju

    ``TORCH_LOGS="+inductor"`` prints what each key is made of, which tells why a key changed.

    ## When it is harmless
    Where the later start was to be cold. Ranks that start at the same time all miss: only starts
    one after the other are compared, of the same rank. A graph that differs itself is another
    program, and is not compared.

    ## What to do
    Give the cache a directory that stays, or carry the artifacts along with
    ``torch.compiler.save_cache_artifacts``; keep settings and versions equal.

    ## How a live run confirms it
    The program is started twice with one directory. Confirmed when the second start finds all
    graphs.

    ## See also
    CMP001 (what a start costs), CMP002 (graphs that the cache refuses).
    <https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "CMP003"
    name = "fx-cache-missed-when-warm"
    severity = Severity.INFO
    unconfirmable = EMPTY_CACHES
    Data = MissData
    remedies = (
        Remedy(
            "keep-directory",
            "Give the cache a directory that stays from start to start: set "
            "TORCHINDUCTOR_CACHE_DIR to one on a volume.",
            when="the same key was no longer there",
            applies=lambda data: not data.parts,
            since="2.1",
            proof="https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html",
        ),
        Remedy(
            "carry-artifacts",
            "Or carry what was compiled along with the program: "
            "`torch.compiler.save_cache_artifacts()` at the end of a start, "
            "`load_cache_artifacts` at the beginning of the next.",
            when="the same key was no longer there",
            applies=lambda data: not data.parts,
            since="2.7",
            proof="https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html",
        ),
        Remedy(
            "same-settings",
            "Start with the same settings and versions.",
            when="parts of the key changed",
            applies=lambda data: bool(data.parts),
            proof="the log names the parts of the key",
        ),
    )

    def check(
        self,
        uses: Table[CacheUse],
        *,
        events: Table[CacheEvent],
        threads: Table[CompileThreads],
        details: Table[HashDetails],
    ) -> Iterator[Finding]:
        """Yield one finding about lost graphs, and one per set of parts that changed."""
        del uses  # without them nobody listened
        lost: list[Lookup] = []
        changed: dict[tuple[str, ...], list[Lookup]] = {}
        for earlier, later in successive(events, threads, details):
            stored = {lookup.key for lookup in earlier}
            graphs = {lookup.graph: lookup for lookup in earlier}
            for lookup in later:
                if lookup.is_hit:
                    continue
                before = graphs.get(lookup.graph)
                if lookup.key in stored:
                    lost.append(lookup)
                elif before is not None and (parts := _changed(before, lookup)):
                    changed.setdefault(parts, []).append(lookup)
        if lost:
            yield self._lost(lost)
        for parts, lookups in changed.items():
            yield self._changed(parts, lookups)

    def _lost(self, lookups: Sequence[Lookup]) -> Finding:
        keys = {lookup.key for lookup in lookups}
        data = MissData(keys=len(keys))
        graphs = f"{len(keys)} graphs" if len(keys) > 1 else "a graph"
        return self.finding(
            "lost",
            title=f"{graphs} of an earlier start {'were' if len(keys) > 1 else 'was'} no longer "
            f"in the cache",
            message="The later start asked for the same keys and compiled again: what the earlier "
            "one stored is not in the directory that it looked in.",
            confidence=Confidence.MEDIUM,
            count=len(lookups),
            evidence=[lookup.quote("a later start") for lookup in lookups[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )

    def _changed(self, parts: tuple[str, ...], lookups: Sequence[Lookup]) -> Finding:
        named = ", ".join(f"`{part}`" for part in parts[:MAX_PARTS])
        more = and_more(len(parts), MAX_PARTS)
        data = MissData(parts=parts, keys=len({lookup.key for lookup in lookups}))
        return self.finding(
            "changed",
            *parts,
            title=f"the key of the same graph changed between two starts: {named}{more}",
            message="The graph and its inputs are the same, but not all else that the key is made "
            "of, so that the cache could not be used.",
            count=len(lookups),
            evidence=[lookup.quote("a later start") for lookup in lookups[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )


def _changed(before: Lookup, now: Lookup) -> tuple[str, ...]:
    """Return the parts of the keys that differ; none where the graphs do, or nothing is known."""
    old, new = before.parts, now.parts
    if not old or not new:
        return ()
    names = [name for name in new if old.get(name) != new[name]]
    return () if any(name.startswith(GRAPH) for name in names) else tuple(names)
