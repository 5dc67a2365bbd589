"""Which inputs are of one run: of one process, or of the ranks of one job.

Names and places tell first: the files of a recording, the ranks of one directory. Files of one
directory that name the same process are candidates: whether they overlap in time shows when they
have been read. Everything else is a run of its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

import msgspec

from tracelens.evidence import Evidence
from tracelens.source.jobs import jobs_of
from tracelens.source.probe import Probe, probe

__all__ = ["Group", "Spans", "bundle_of", "groups", "of_one_process", "spans_of"]

#: Seconds by which the clock of a log, which names no zone, may differ from that of a trace.
MAX_ZONE = 14 * 3600.0
#: Seconds that a program may run between its last compilation and a trace.
MAX_QUIET = 24 * 3600.0


#: When each process of an input compiled first and last, by its number.
Spans = dict[str, tuple[float, float]]


class Group(msgspec.Struct):
    """Inputs that are read together."""

    #: The parts that are of one run for certain.
    parts: list[list[str]]
    #: As the user calls it; empty for none.
    name: str = ""
    probes: dict[str, Probe] = msgspec.field(default_factory=dict)

    @property
    def paths(self) -> list[str]:
        """All inputs."""
        return list(chain.from_iterable(self.parts))


def groups(
    paths: Sequence[str], *, one_run: bool = False, named: Mapping[str, Sequence[str]] | None = None
) -> list[Group]:
    """Return what to read together, in the order of the inputs; each is one run, or more.

    Args:
        paths: Files, and ``-``.
        one_run: Whether all are of one run.
        named: Runs that the user has named, and their files.
    """
    told = named or {}
    taken = set(chain.from_iterable(told.values()))
    rest = [path for path in paths if path not in taken]
    out = [Group([list(files)], name) for name, files in told.items()]
    if one_run:
        return [*out, Group([rest])] if rest else out
    places: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    bundles = {root for path in rest if (root := _root(path)) is not None}
    for path in rest:
        root = bundle_of(path, bundles)
        place = ("bundle", root) if root is not None else ("folder", _folder(path))
        places[place].append(path)
    order = {path: number for number, path in enumerate(rest)}
    found = [
        group
        for (what, _), files in places.items()
        for group in (_together(what, files) if len(files) > 1 else [Group([files])])
    ]
    return [*out, *sorted(found, key=lambda group: order[group.paths[0]])]


def _together(what: str, files: Sequence[str]) -> list[Group]:
    if what == "bundle":  # its log comes first: the structured log tells much of it again
        return [Group([sorted(files, key=lambda path: _root(path) is None)])]
    return _sorted(files)


def _folder(path: str) -> str:
    return path if path == "-" else str(Path(path).parent)


def _root(path: str) -> str | None:
    """Return the folder of the recording whose log ``path`` is, by its name."""
    file = Path(path)
    return str(file.parent) if file.name in {"log.txt.gz", "log.txt"} else None


def bundle_of(path: str, roots: Iterable[str]) -> str | None:
    """Return which of the recordings in ``roots`` the file belongs to."""
    file = Path(path)
    if file.parent.name == "torch_trace" and str(file.parent.parent) in roots:
        return str(file.parent.parent)
    ours = re.fullmatch(r"(?:log\.txt|trace(?:-\d+)?\.json)(?:\.gz)?", file.name) is not None
    return str(file.parent) if ours and str(file.parent) in roots else None


def _sorted(files: Sequence[str]) -> list[Group]:
    """Return the groups among the files of one folder."""
    probes = {path: probe(path) for path in files if path != "-"}
    jobs = jobs_of(list(probes.values()))
    taken = set(chain.from_iterable(jobs))
    parts = [*jobs, *([path] for path in files if path not in taken)]
    joined = _Joined(len(parts))
    first: dict[str, int] = {}
    for number, part in enumerate(parts):
        for pid in {pid for path in part if path in probes for pid in probes[path].pids}:
            joined.join(number, first.setdefault(pid, number))
    order = {path: number for number, path in enumerate(files)}
    for part in parts:
        part.sort(key=order.__getitem__)
    together = [
        Group([parts[number] for number in sorted(numbers, key=lambda n: order[parts[n][0]])])
        for numbers in joined.sets()
    ]
    for group in together:
        group.probes = {path: probes[path] for path in group.paths if path in probes}
    return together


def of_one_process(group: Group, read: Mapping[str, Spans]) -> list[list[str]]:
    """Return which inputs of a group that was read are of one run; the first begins with the first.

    Logs are of one process when they name it and their compilations overlap in time. A trace is of
    the one process in the group that has its number, when it was begun on the day of its log.
    """
    if len(group.parts) == 1:
        return [group.paths]
    joined = _Joined(len(group.parts))
    part_of = {path: number for number, part in enumerate(group.parts) for path in part}
    times: defaultdict[str, list[tuple[float, float, int]]] = defaultdict(list)
    for path, spans in read.items():
        for pid, (first, last) in spans.items():
            times[pid].append((first, last, part_of[path]))
    logs: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    for pid, held in times.items():
        end = -1.0
        for first, last, number in sorted(held):
            if first <= end:
                joined.join(number, logs[pid][-1][1])
            else:
                logs[pid].append((first, number))
            end = max(end, last)
    traces = [found for found in group.probes.values() if found.kind == "trace"]
    for found in group.probes.values() if traces else ():
        for pid in found.pids - logs.keys() if found.kind != "trace" else ():
            logs[pid].append((found.start or 0.0, part_of[found.path]))
    for found in traces:
        homes = [home for pid in found.pids for home in logs.get(pid, ())]
        if len(homes) == 1 and _same_day(homes[0][0], found.start):
            joined.join(part_of[found.path], homes[0][1])
    return [
        [path for number in sorted(numbers) for path in group.parts[number]]
        for numbers in joined.sets()
    ]


def spans_of(evidence: Evidence) -> Spans:
    """Return when each process of the evidence compiled, by its number."""
    out: Spans = {}
    for (source, writer, _), span in evidence.spans.items():
        pid = evidence.numbers.get((source, writer), writer)
        first, last = out.get(pid, (span.first, span.last))
        out[pid] = min(first, span.first), max(last, span.last)
    return out


def _same_day(log: float, trace: float | None) -> bool:
    return trace is None or -MAX_ZONE <= trace - log <= MAX_QUIET + MAX_ZONE


class _Joined:
    """Numbers, and which of them belong together."""

    def __init__(self, count: int) -> None:
        self._above = list(range(count))

    def _top(self, number: int) -> int:
        while self._above[number] != number:
            self._above[number] = self._above[self._above[number]]
            number = self._above[number]
        return number

    def join(self, one: int, other: int) -> None:
        """Let two numbers belong together."""
        low, high = sorted((self._top(one), self._top(other)))
        self._above[high] = low

    def sets(self) -> list[list[int]]:
        """Return the numbers that belong together."""
        out: defaultdict[int, list[int]] = defaultdict(list)
        for number in range(len(self._above)):
            out[self._top(number)].append(number)
        return list(out.values())
