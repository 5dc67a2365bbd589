"""Which files of one folder are of ranks of one job, by names, by what they say, and by times."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from tracelens.late import late
from tracelens.source.probe import Probe

__all__ = ["jobs_of"]

#: Seconds between the first records of two ranks of one job.
MAX_SKEW = 600.0
#: The same where one of them must belong to the other, as no job is without a rank 0.
MAX_APART = 24 * 3600.0
#: Seconds between the ends of two ranks' traces.
MAX_TRACE_SKEW = 30.0

#: Files of ranks, as a job's: rank, seconds at which it began, and what its head tells.
_Job = list[tuple[str, float | None, Probe]]

_RANK = late(r"^(?P<head>.*?rank[-_.]?)(?P<rank>\d{1,6})(?P<rest>\D.*)?$", re.IGNORECASE)
#: What makes the name of a structured log unique.
_UNIQUE = late(r"^_[a-z0-9_]{8}(?=\.|$)")
_HOST_TRACE = late(r"^(?P<host>.+)_(?P<pid>\d+)\.(?P<stamp>\d{10,20})(?:\.pt)?\.trace\.json")


def jobs_of(probes: Sequence[Probe]) -> list[list[str]]:
    """Return the files of ranks of one job: alike in name, or as they say, and begun together."""
    named: defaultdict[tuple[str, ...], _Job] = defaultdict(list)
    for one in probes:
        if (key := _template(one)) is not None:
            named[key[0]].append((key[1], key[2], one))
    out = []
    for (what, *_), files in named.items():
        skew = MAX_SKEW if what == "rank" else MAX_TRACE_SKEW
        jobs = _begun_together(files, skew)
        if what == "rank" and files[0][2].kind == "structured":
            jobs = _with_first_rank(jobs)
        out += [[one.path for _, _, one in job] for job in jobs]
    return [job for job in out if len(job) > 1]


def _template(one: Probe) -> tuple[tuple[str, ...], str, float | None] | None:
    """Return what the names of a job's files have in common, the rank, and when it began."""
    name = Path(one.path).name
    if one.kind == "trace" and one.world == 1:
        return None
    if one.kind == "trace" and (host := _HOST_TRACE.match(name)) is not None:
        seconds = float(f"{host['stamp'][:10]}.{host['stamp'][10:] or 0}")
        return ("host",), f"{host['host']}_{host['pid']}", seconds
    if (match := _RANK.match(name)) is None:
        told = one.rank is not None and one.start is not None
        return (("told", str(one.world)), str(one.rank), one.start) if told else None
    rest = _UNIQUE.sub("", match["rest"] or "").removesuffix(".gz")
    return ("rank", one.kind, match["head"], re.sub(r"\d+", "#", rest)), match["rank"], one.start


def _begun_together(files: Sequence[tuple[str, float | None, Probe]], skew: float) -> list[_Job]:
    """Cut files into jobs: a rank that comes again, or much later, is of another one."""
    jobs: list[_Job] = []
    held: dict[str, Probe] = {}
    for rank, start, one in sorted(files, key=lambda file: (file[1] or 0.0, file[0])):
        last = jobs[-1][-1][1] if jobs else None
        late = last is not None and start is not None and start - last > skew
        again = rank in held and not (one.kind == "trace" and held[rank].pids == one.pids)
        if not jobs or late or again:
            jobs.append([])
            held = {}
        jobs[-1].append((rank, start, one))
        held[rank] = one
    return jobs


def _with_first_rank(jobs: Sequence[_Job]) -> list[_Job]:
    """Join what began apart where one has the rank 0 that the other lacks, and other ranks.

    Torch names structured logs after ranks, and no job is without its first one. Clocks in logs
    name no zone, and the hosts of a job need not agree about it.
    """
    out: list[_Job] = []
    for job in jobs:
        ranks = {int(rank) for rank, _, _ in job}
        before = {int(rank) for rank, _, _ in out[-1]} if out else set()
        apart = (job[0][1] or 0.0) - (out[-1][0][1] or 0.0) if out else 0.0
        if before and not ranks & before and 0 in ranks | before and apart <= MAX_APART:
            out[-1] = [*out[-1], *job]
        else:
            out.append(job)
    return out
