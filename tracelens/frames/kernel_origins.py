"""Where a generated kernel comes from: its graph, the user's lines, the file, and what it took.

A kernel's name is the same in the generated code and in the trace. A name that several
compilations have is told of each of them, and its time of none.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from tracelens.evidence import Evidence, Place, Seen
from tracelens.frames import Frame
from tracelens.inductor.origins import Lines
from tracelens.logs.graph_code import FxGraph
from tracelens.logs.output_code import CodeFile, KernelDef, OutputModule

__all__ = ["tables"]

#: Kernels that are listed, those that took longest first.
MAX_ROWS = 1_000


class _Time(NamedTuple):
    """What a trace says of a name."""

    n: int
    ms: float


def tables(evidence: Evidence) -> dict[str, list[dict[str, Any]]]:
    """Return ``kernel_origins``; nothing without generated code."""
    rows = sorted(_rows(evidence), key=lambda row: (-(row["ms"] or 0.0), row["kernel"]))
    return {"kernel_origins": rows[:MAX_ROWS]} if rows else {}


def _rows(evidence: Evidence) -> Iterator[dict[str, Any]]:
    lines = Lines(evidence.table(FxGraph))
    files = _files(evidence)
    codes = {seen.first.compilation: seen.record for seen in evidence.table(Frame)}
    times = _times(evidence)
    modules = list(evidence.table(OutputModule).events())
    owners: defaultdict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for place, seen in modules:
        for name in seen.record.kernels:
            owners[name].add(place.compilation)
    ran = _ran(codes)
    for place, seen in modules:
        frame = codes.get(place.compilation)
        for kernel in seen.record.kernels.values():
            alone = ran(owners[kernel.kernel]) == {place.compilation}
            yield {
                "kernel": kernel.kernel,
                "frame": place.frame or None,
                "function": frame.function if frame else None,
                "where": _where(frame),
                "graph": seen.record.graph or None,
                "language": kernel.language,
                **_time(times.get(kernel.kernel) if alone else None),
                **_origin(seen, kernel, lines),
                "file": _file(files.get(place.compilation, []), place),
                "input": place.input,
                "line": place.line_of(kernel.at),
                "others": len(owners[kernel.kernel]) - 1,
            }


def _ran(
    frames: Mapping[tuple[str, str, str], Frame],
) -> Callable[[set[tuple[str, str, str]]], set[tuple[str, str, str]]]:
    """Return what tells which of some compilations ran: those with a region, where any has one."""
    found = {
        key
        for key, frame in frames.items()
        if any(
            type(sighting.seen.record).__name__ == "CompiledRegion" for sighting in frame.sightings
        )
    }
    return lambda owners: owners & found if found else owners


def _origin(seen: Seen[OutputModule], kernel: KernelDef, lines: Lines) -> dict[str, Any]:
    """Return the nodes, operators and lines of a kernel, by the comments at it and its calls."""
    calls = [(call.kernel, step.comment) for step, call in seen.record.kernel_calls()]
    above = [kernel.comment, *(comment for name, comment in calls if name == kernel.kernel)]
    comments = [comment for comment in above if comment is not None]
    nodes = dict.fromkeys(node for comment in comments for node in comment.nodes)
    ops = dict.fromkeys(op for comment in comments for op in comment.ops)
    named = [word for word in kernel.fused.split("_") if word]
    each = [lines.of(seen, comment) for comment in comments]
    if not any(each):  # C++ has no comments; an operator tells where it stands in one line only
        each = [lines.of(seen, ops=[op]) for op in dict.fromkeys((*named, kernel.fused))]
    found = dict.fromkeys(line for told in each for line in told)
    return {
        "nodes": list(nodes),
        "ops": list(ops),
        "lines": [f"{line.file}:{line.line} {line.code}".rstrip() for line in found],
    }


def _files(evidence: Evidence) -> dict[tuple[str, str, str], list[tuple[str, int, str]]]:
    """Return the files of each compilation in the order of the log."""
    found: defaultdict[tuple[str, str, str], list[tuple[str, int, str]]] = defaultdict(list)
    for place, seen in evidence.table(CodeFile).events():
        found[place.compilation].append((place.input, place.line, seen.record.path))
    return {key: sorted(files) for key, files in found.items()}


def _file(files: list[tuple[str, int, str]], module: Place) -> str | None:
    """Return the file that is named first after a module; before it, in its own log, none is."""
    at = bisect_right(files, (module.input, module.line, ""))
    after = files[at : at + 1]
    return after[0][2] if after and after[0][0] == module.input else None


def _where(frame: Frame | None) -> str | None:
    return f"{frame.file}:{frame.line}" if frame and frame.file else None


def _time(found: _Time | None) -> dict[str, Any]:
    return {"n": found and found.n, "ms": found and round(found.ms, 6)}


def _times(evidence: Evidence) -> dict[str, _Time]:
    """Return what the kernels took: on the device, or else where the host calls them."""
    if "chrome_trace" not in evidence.kinds:
        return {}
    from tracelens.logs.chrome_trace import InductorKernel  # noqa: PLC0415 -- of traces only

    device: dict[str, _Time] = {}
    host: dict[str, _Time] = {}
    for seen in evidence.table(InductorKernel):
        name = str(seen.record.model_copy(update={"graph": None}))
        into = device if seen.record.category.lower() == "kernel" else host
        held = into.get(name, _Time(0, 0.0))
        into[name] = _Time(held.n + seen.count, held.ms + seen.ms)
    return host | device
