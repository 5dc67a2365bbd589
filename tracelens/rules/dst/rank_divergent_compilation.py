"""DST001 rank-divergent-compilation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TypeGuard

import msgspec

from tracelens.dynamo import user_code
from tracelens.evidence import Gap, Place, Seen, Table
from tracelens.frames import Frame, gathered
from tracelens.frames.ranks import SharedFunction, shared_functions
from tracelens.remedies import Remedy
from tracelens.report import (
    Confidence,
    Cost,
    EvidenceLine,
    Finding,
    FindingData,
    Severity,
    Where,
)
from tracelens.report.stories import Story
from tracelens.report.stories import recompiles as recompiles_of
from tracelens.rules import Rule
from tracelens.words import and_more, plural

if TYPE_CHECKING:  # what a log has nothing of is not imported
    from tracelens.logs.recompiles import Check, Recompile, TensorMismatch
    from tracelens.logs.warnings import TorchWarning

__all__ = ["RankDivergentCompilation"]

#: Ranks and entries that are named.
MAX_NAMED = 4
#: Seconds from one rank's recompile to another's: less is jitter, or clocks that differ.
MIN_APART = 1.0


class DivergentData(FindingData):
    """A function that some ranks compile again, and others do not, or at another time."""

    function: str
    file: str
    line: int
    #: The ranks that compile it again, and those that wait for them.
    ranks: tuple[str, ...]
    others: tuple[str, ...] = ()
    #: Whether a size differs, of which argument and dimension.
    is_size: bool = False
    source: str = ""
    dimension: int | None = None


class RankDivergentCompilation(Rule):
    """Some ranks compile a function again and others do not, or at another time.

    ## Why it matters
    While one rank compiles, the others wait for it in the next collective: seconds to minutes, for
    every recompile, of every rank in turn. With a timeout on collectives the job dies. It comes from
    inputs that differ between ranks, mostly in size: the last batch, sequences that are not padded
    to a common length, experts that get other numbers of tokens.

    ## What it looks like
    The same function, and an entry that only one rank compiles:

        [rank0]:V1120 15:38:51.914000 22766 torch/_dynamo/guards.py:4519] [0/0] [__guards] Guard eval latency = 101.97 us
        [rank1]:V1120 15:38:52.128000 22767 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] Recompiling function forward in /home/ana/proj/model.py:26
        [rank1]:V1120 15:38:52.128000 22767 torch/_dynamo/guards.py:5396] [0/1] [__recompiles]     triggered by the following guard failure(s):
        [rank1]:V1120 15:38:52.128000 22767 torch/_dynamo/guards.py:5396] [0/1] [__recompiles]     - 0/0: tensor 'x' size mismatch at index 0. expected 8, actual 12

    ## When it is harmless
    When the ranks do not run the same function, as the stages of a pipeline: only functions that
    several ranks compiled are compared. With ``TORCH_LOGS="recompiles"`` alone a rank that never
    recompiles does not show what it compiled, unless torch warned there about the same function. Ranks are told apart by the prefix of their
    lines (``[rank1]:``), or by files with ``rank`` in their names. When every rank compiles the same entries at
    the same time, whatever the sizes. Where the log of a rank is cut, the confidence is low.

    ## What to do
    Give all ranks inputs of the same sizes in the same step, or mark the dimension dynamic before
    the first call on all of them. ``enable_compiler_collectives`` is no way out: all ranks must
    then compile at the same time, or they wait for each other forever, and a group of gloo raises.

    ## How a live run confirms it
    The same steps with padded inputs: the ranks compile the same entries, and the slowest step gets
    shorter.

    ## See also
    RCP002, RCP003 (why a size makes an entry).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "DST001"
    name = "rank-divergent-compilation"
    severity = Severity.WARNING
    unconfirmable = (
        "it takes all ranks and their inputs: record them again, and compare the reports"
    )

    Data = DivergentData
    remedies = (
        Remedy(
            "same-sizes",
            "Give all ranks inputs of the same sizes in the same step: drop the last batch, and "
            "pad to a length that all ranks agree on.",
            when="a size differs",
            applies=lambda data: data.is_size,
            basis="untestable",
            proof="it takes the data of all ranks",
        ),
        Remedy(
            "mark-dynamic",
            "Mark the dimension dynamic before the first call, on all ranks: then no rank compiles "
            "again when it changes.",
            when="a size of an argument differs",
            applies=lambda data: data.is_size and data.dimension is not None,
            code=lambda data: (
                f"torch._dynamo.maybe_mark_dynamic({data.source}, {data.dimension})"
                if data.source.isidentifier()
                else None
            ),
            since="2.3",
            basis="tested",
            proof="tests/advice/RCP003/mark-dynamic.py",
        ),
        Remedy(
            "same-steps",
            "Run the same code with the same modes in the same step on all ranks.",
            when="something else than a size differs",
            applies=lambda data: not data.is_size,
            basis="untestable",
            proof="it takes the program of all ranks",
        ),
    )

    def causes(self, finding: Finding) -> Iterator[Story]:
        """Tell why ranks wait, whatever made one of them compile again."""
        data = self.data_of(finding)
        if isinstance(data, DivergentData):
            yield recompiles_of(data.file, data.line)

    def check(
        self,
        frames: Table[Frame],
        *,
        gaps: Table[Gap],
        recompiles: Table[Recompile],
        said: Table[TorchWarning],
    ) -> Iterator[Finding]:
        """Yield one finding per function that ranks compile differently."""
        known = shared_functions(frames)
        told = {shared.definition for shared in known}
        yield from self._by_number(recompiles, said, told)
        for parts in _by_change(filter(None, map(_Part.of, known))):
            yield self._finding(parts, is_cut=bool(len(gaps)))

    def _by_number(
        self,
        recompiles: Table[Recompile],
        said: Table[TorchWarning],
        told: Collection[tuple[str, str, int]],
    ) -> Iterator[Finding]:
        """Yield functions that only some ranks compile again, where the others show no guards.

        All ranks of a job number their functions alike, and a warning of torch has the number.
        """
        seen_by: defaultdict[str, set[str]] = defaultdict(set)
        for place, _ in said.events():
            if place.frame and not place.writer.isdecimal():
                seen_by[place.frame.partition("/")[0]].add(place.writer)
        groups: defaultdict[tuple[str, str, str, int], list[tuple[Place, Seen[Recompile]]]]
        groups = defaultdict(list)
        for place, row in recompiles.events():
            definition = (row.record.function, row.record.file, row.record.line)
            if definition not in told:
                groups[place.frame.partition("/")[0], *definition].append((place, row))
        for (number, name, file, line), events in groups.items():
            ranks = list(dict.fromkeys(place.writer for place, _ in events))
            others = sorted(seen_by[number] - set(ranks))
            if not others or not seen_by[number].issuperset(ranks):
                continue
            checks = [row.record.newest.check for _, row in events if row.record.newest]
            data = _data((name, file, line), checks, ranks, others)
            why = "; ".join(dict.fromkeys(str(check) for check in checks[:MAX_NAMED] if check))
            yield self.finding(
                name,
                user_code.short(file),
                title=f"`{name}` is compiled again on {_listed(ranks)} and not on "
                f"{_listed(others)}",
                message="Only some of the ranks compile it again; meanwhile the others wait in the "
                f"next collective. {why}.",
                confidence=Confidence.MEDIUM,
                count=len(events),
                where=Where(file=file, line=line or None, function=name),
                evidence=[
                    row.quote(place.writer, place=place, at=row.record.newest.at)
                    for place, row in events[:MAX_NAMED]
                    if row.record.newest
                ],
                advice=self.advise(data),
                data=data,
            )

    def _finding(self, parts: list[_Part], *, is_cut: bool) -> Finding:
        first = parts[0]
        shared, entries, missing = first.shared, first.entries, first.missing
        name, file, line = shared.definition
        ranks = sorted({rank for rank, _ in first.steps})
        if missing:
            others = [r for r in shared.ranks if any(e not in shared.ranks[r] for e in entries)]
            title = f"`{name}` is compiled again on {_listed(ranks)} and not on {_listed(others)}"
        else:
            title = f"`{name}` is compiled again at another time on each of {_listed(ranks)}"
        reasons = dict.fromkeys(
            f"{rank}: {check}" for rank, row in first.steps if (check := _reason(row))
        )
        why = f" {'; '.join(list(reasons)[:MAX_NAMED])}." if reasons else ""
        number = f"{len(entries)} entries" if len(entries) > 1 else f"entry {entries[0]}"
        what = f"The ranks compile {number} one after the other"
        if missing:
            what = f"Only some of the ranks compile {number}"
        if len(parts) > 1:
            what += f", and {plural(len(parts) - 1, 'other function')} for the same change"
        checks = [_check(row) for _, row in first.steps]
        data = _data(shared.definition, checks, ranks, others if missing else [])
        seconds = sum(part.seconds for part in parts)
        return self.finding(
            name,
            user_code.short(file),
            title=title,
            message=f"{what}; meanwhile the others wait in the next collective.{why}",
            confidence=Confidence.LOW
            if is_cut
            else (Confidence.HIGH if missing else Confidence.MEDIUM),
            count=sum(len(part.steps) for part in parts),
            where=Where(file=file, line=line or None, function=name),
            evidence=[_quote(row, rank) for rank, row in [s for part in parts for s in part.steps]][
                :MAX_NAMED
            ],
            cost=Cost(ms=seconds * 1000, basis="estimated", of="waiting for the slowest rank")
            if seconds
            else None,
            advice=self.advise(data),
            data=data,
        )


class _Part(msgspec.Struct):
    """What ranks compile of one function while the others wait."""

    shared: SharedFunction
    entries: list[int]
    #: Whether some ranks never compile it; else they do so at another time.
    missing: bool

    @classmethod
    def of(cls, shared: SharedFunction) -> _Part | None:
        apart = [e for e in shared.entries if len(shared.with_entry(e)) < len(shared.ranks)]
        if apart:
            return cls(shared, apart, missing=True)
        late = [e for e in shared.entries if _is_late(shared, e)]
        return cls(shared, late, missing=False) if late else None

    @property
    def steps(self) -> list[tuple[str, Seen[Frame]]]:
        """Ranks and what they compile."""
        ranks = self.shared.ranks
        return [(r, ranks[r][e]) for e in self.entries for r in sorted(self.shared.with_entry(e))]

    @property
    def seconds(self) -> float:
        """What the others wait."""
        return sum(_waited(self.shared, e, late=not self.missing) for e in self.entries)

    @property
    def change(self) -> tuple[object, ...]:
        """The sizes that change and where; the function itself where it is no size."""
        checks = [(rank, _check(row)) for rank, row in self.steps]
        sizes = {
            (rank, check.expected, check.actual)
            for rank, check in checks
            if _is_mismatch(check) and check.what == "size"
        }
        return (self.missing, *sorted(sizes)) if sizes else self.shared.definition


def _by_change(parts: Iterable[_Part]) -> Iterator[list[_Part]]:
    """Yield what one change of sizes has compiled again, the function that takes longest first."""
    groups: defaultdict[tuple[object, ...], list[_Part]] = defaultdict(list)
    for part in parts:
        groups[part.change].append(part)
    for group in groups.values():
        yield sorted(group, key=lambda part: -part.seconds)


def _is_late(shared: SharedFunction, entry: int) -> bool:
    """Tell whether a rank begins an entry when another has done with it, and not by jitter."""
    times = []
    for rank in shared.ranks:
        row = shared.ranks[rank][entry]
        when = row.first.when
        if when is None:
            return False
        times.append((when, when + (row.record.compile_seconds or 0.0)))
    times.sort()
    return any(
        later[0] >= earlier[1] and later[0] - earlier[0] >= MIN_APART
        for earlier, later in pairwise(times)
    )


def _waited(shared: SharedFunction, entry: int, *, late: bool) -> float:
    """Return what the others wait: for the slowest rank, or for all but the slowest as well."""
    rows = [shared.ranks[rank][entry] for rank in shared.with_entry(entry)]
    times = [row.record.compile_seconds or 0.0 for row in rows]
    return sum(times) - max(times) if late else max(times)


def _is_mismatch(check: Check | None) -> TypeGuard[TensorMismatch]:
    return type(check).__name__ == "TensorMismatch"  # not imported where nothing is compiled again


def _check(row: Seen[Frame]) -> Check | None:
    for seen in row.record.named(gathered.RECOMPILE):
        if seen.record.newest is not None and seen.record.newest.check is not None:
            check: Check = seen.record.newest.check
            return check
    return None


def _reason(row: Seen[Frame]) -> str:
    check = _check(row)
    return "" if check is None else str(check)


def _data(
    definition: tuple[str, str, int],
    checks: Sequence[Check | None],
    ranks: Iterable[str],
    others: Iterable[str],
) -> DivergentData:
    name, file, line = definition
    check = checks[0] if checks else None
    is_size = _is_mismatch(check) and check.what == "size"
    return DivergentData(
        function=name,
        file=file,
        line=line,
        ranks=tuple(ranks),
        others=tuple(others),
        is_size=is_size,
        source=str(check.source) if _is_mismatch(check) else "",
        dimension=check.index if _is_mismatch(check) else None,
    )


def _quote(row: Seen[Frame], rank: str) -> EvidenceLine:
    kind = gathered.imported(gathered.RECOMPILE)
    again = (s for s in row.record.sightings if kind and isinstance(s.seen.record, kind))
    sighting = next(again, row.record.sightings[0])
    newest = getattr(sighting.seen.record, "newest", None)
    at = newest.at if newest else 0
    return sighting.seen.quote(f"{rank}, entry {row.record.id}", at=at, place=sighting.place)


def _listed(ranks: list[str]) -> str:
    more = and_more(len(ranks), MAX_NAMED)
    return ", ".join(ranks[:MAX_NAMED]) + more
