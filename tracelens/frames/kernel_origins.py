"""Where a generated kernel comes from: its graph, the user's lines, the file, and what it took.

A kernel's name is the same in the generated code and in the trace. Where kernels of the CPU are
profiled, the number of the graph stands in both. A name that several graphs have otherwise is told
of each of them, and its time of none.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from heapq import nsmallest
from operator import itemgetter
from typing import Any, NamedTuple

from tracelens.evidence import Evidence, Place, Seen
from tracelens.frames import Frame
from tracelens.inductor.origins import Lines
from tracelens.logs._provenance import Followed, KernelOrigin
from tracelens.logs._stack import StackFrame, innermost
from tracelens.logs._statements import Origin
from tracelens.logs.graph_code import FxGraph
from tracelens.logs.output_code import CodeFile, KernelDef, OutputModule

__all__ = ["tables"]

#: Kernels that are listed, those that took longest first.
MAX_ROWS = 1_000

_Compilation = tuple[str, str, str]
#: Name of a kernel, and the number of its graph, where it is known.
_Key = tuple[int | None, str]
_Modules = list[tuple[Place, Seen[OutputModule]]]
#: What was said of a kernel of a compilation, and where, in the order of the log.
_Told = defaultdict[tuple[_Compilation, str], list[tuple[tuple[str, int], KernelOrigin]]]


class _Time(NamedTuple):
    """What a trace says of a name."""

    n: int
    ms: float


#: A kernel of a module, and what it took, where that is known.
_Listed = tuple[Place, Seen[OutputModule], KernelDef, _Time | None]


def tables(evidence: Evidence) -> dict[str, list[dict[str, Any]]]:
    """Return ``kernel_origins``; nothing without generated code."""
    rows = list(_rows(evidence))
    return {"kernel_origins": rows} if rows else {}


def _rows(evidence: Evidence) -> Iterator[dict[str, Any]]:
    lines, followed = evidence.table(FxGraph).derived(Lines), _Followed(evidence)
    files = _files(evidence)
    codes = {seen.first.compilation: seen.record for seen in evidence.table(Frame)}
    modules = list(evidence.table(OutputModule).events())
    timed = _timed(evidence, modules, codes)
    others: defaultdict[str, set[_Compilation]] = defaultdict(set)
    for place, seen in modules:
        for name in seen.record.kernels:
            others[name].add(place.compilation)
    called: dict[int, defaultdict[str, list[Origin]]] = {}
    origins: dict[tuple[int, str], dict[str, Any]] = {}  # of a module, wherever it was seen
    for place, seen, kernel, time in _listed(modules, timed):
        frame, key = codes.get(place.compilation), (id(seen), kernel.kernel)
        said = followed.of(place, kernel)
        if said or (origin := origins.get(key)) is None:
            if id(seen) not in called:
                called[id(seen)] = _called(seen.record)
            comments = called[id(seen)][kernel.kernel]
            origin = _origin(seen, kernel, comments, lines, said)
            if not said:
                origins[key] = origin
        yield {
            "kernel": kernel.kernel,
            "frame": place.frame or None,
            "function": frame.function if frame else None,
            "where": _where(frame),
            "graph": seen.record.graph or None,
            "language": kernel.language,
            **_time(time),
            **origin,
            "file": _file(files.get(place.compilation, []), place),
            "input": place.input,
            "line": place.line_of(kernel.at),
            "others": len(others[kernel.kernel]) - 1,
        }


def _listed(modules: _Modules, timed: Callable[[Place, KernelDef], _Time | None]) -> list[_Listed]:
    """Return the kernels that are listed, in order: only for these the lines are looked up."""
    found: Iterator[_Listed] = (
        (place, seen, kernel, timed(place, kernel))
        for place, seen in modules
        for kernel in seen.record.kernels.values()
    )
    return nsmallest(MAX_ROWS, found, key=_rank)


def _rank(one: _Listed) -> tuple[float, str]:
    _, _, kernel, time = one
    return (-round(time.ms, 6) if time else 0.0, kernel.kernel)


def _timed(
    evidence: Evidence, modules: _Modules, frames: Mapping[_Compilation, Frame]
) -> Callable[[Place, KernelDef], _Time | None]:
    """Return what tells what a kernel of a module took, if that can be told from its namesakes.

    The passes of one compilation share the number of their graph; and of compilations without a
    number those that have a region in the trace are meant, where any has one.
    """
    times = _times(evidence)
    numbered = any(number is not None for number, _ in times)
    owners: defaultdict[_Key, list[Place]] = defaultdict(list)
    for place, seen in modules:
        for kernel in seen.record.kernels.values():
            owners[kernel.number, kernel.kernel].append(place)
    ran = {
        key
        for key, frame in frames.items()
        if any(type(sight.seen.record).__name__ == "CompiledRegion" for sight in frame.sightings)
    }

    meant = {
        key: (key[0] is None and [one for one in held if one.compilation in ran]) or held
        for key, held in owners.items()
    }

    def found(place: Place, kernel: KernelDef) -> _Time | None:
        key = (kernel.number, kernel.kernel)
        if kernel.number is not None and numbered and key not in times:
            return _Time(0, 0.0)
        return times.get(key) if meant[key] == [place] else None

    return found


class _Followed:
    """What Inductor says itself of the origins of kernels, where it was asked to follow them."""

    def __init__(self, evidence: Evidence) -> None:
        self._nodes: _Told = defaultdict(list)
        self._lines: _Told = defaultdict(list)
        for place, seen in evidence.table(Followed).events():
            for origin in seen.record.kernels:
                key, at = (place.compilation, origin.kernel), (place.input, place.line)
                if origin.nodes:
                    self._nodes[key].append((at, origin))
                if origin.lines:
                    self._lines[key].append((at, origin))

    def of(self, module: Place, kernel: KernelDef) -> list[KernelOrigin]:
        """Return what was said of a kernel: of passes that both have the name, what follows."""
        key = (module.compilation, kernel.kernel)
        told = (held[key] for held in (self._nodes, self._lines) if key in held)
        return [_after(rows, module) for rows in told]


def _after(told: list[tuple[tuple[str, int], KernelOrigin]], module: Place) -> KernelOrigin:
    at = bisect_left(told, (module.input, module.line), key=itemgetter(0))
    return told[at if at < len(told) else 0][1]


def _called(module: OutputModule) -> defaultdict[str, list[Origin]]:
    """Return the comments above the calls of each kernel."""
    found: defaultdict[str, list[Origin]] = defaultdict(list)
    for step, call in module.kernel_calls():
        if step.comment is not None:
            found[call.kernel].append(step.comment)
    return found


def _origin(
    seen: Seen[OutputModule],
    kernel: KernelDef,
    called: list[Origin],
    lines: Lines,
    followed: list[KernelOrigin],
) -> dict[str, Any]:
    """Return the nodes, operators and lines of a kernel, by the comments at it and its calls."""
    comments = [*([kernel.comment] if kernel.comment is not None else []), *called]
    own = tuple(node for one in followed for node in one.nodes)
    if own and not comments:
        comments = [Origin(nodes=own)]
    nodes = dict.fromkeys(node for comment in comments for node in comment.nodes)
    ops = dict.fromkeys(op for comment in comments for op in comment.ops)
    found = [line for one in followed for line in one.lines]
    for call in seen.record.wrapped_calls(kernel.kernel) if not found else ():
        found += innermost(call.stacks)
    if not found:
        found = [line for comment in comments for line in lines.of(seen, comment)]
    if not found:  # C++ has no comments; an operator tells where it stands in one line only
        named = dict.fromkeys((*(word for word in kernel.fused.split("_") if word), kernel.fused))
        found = sorted(
            (line for op in named for line in lines.of(seen, ops=[op])),
            key=lambda line: (line.file, line.line),
        )
    return {
        "nodes": list(nodes),
        "ops": list(ops),
        "lines": list(dict.fromkeys(_line(line) for line in found)),
    }


def _line(line: StackFrame) -> str:
    return f"{line.file}:{line.line} {line.code}".rstrip()


def _files(evidence: Evidence) -> dict[_Compilation, list[tuple[str, int, str]]]:
    """Return the files of each compilation in the order of the log."""
    found: defaultdict[_Compilation, list[tuple[str, int, str]]] = defaultdict(list)
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


def _times(evidence: Evidence) -> dict[_Key, _Time]:
    """Return what the kernels took: on the device, or else where the host calls them.

    A kernel that is recorded with the number of its graph is there with it and without.
    """
    if "chrome_trace" not in evidence.kinds:
        return {}
    from tracelens.logs.chrome_trace import InductorKernel  # noqa: PLC0415 -- of traces only

    device: dict[_Key, _Time] = {}
    host: dict[_Key, _Time] = {}
    for seen in evidence.table(InductorKernel):
        name = str(seen.record.model_copy(update={"graph": None}))
        into = device if seen.record.category.lower() == "kernel" else host
        for number in {seen.record.graph, None}:
            held = into.get((number, name), _Time(0, 0.0))
            into[number, name] = _Time(held.n + seen.count, held.ms + seen.ms)
    return host | device
