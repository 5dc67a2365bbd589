"""What is called beside the modules that lead to a graph break: it may be compiled instead."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite, cuts, sites
from tracelens.dynamo.called_there import called_there, classes_at
from tracelens.dynamo.calls import (
    OF_TORCH,
    Called,
    Children,
    CompiledClasses,
    called_at,
    calls_by_line,
    compiled_classes,
    ends_of,
    frame_of,
    holder_of,
    is_small,
    original,
)
from tracelens.dynamo.layer_counts import layer_counts, most_first
from tracelens.dynamo.other_lines import called_at_others
from tracelens.evidence import Place, Table
from tracelens.logs.graph_breaks import GraphBreak, StackFrame
from tracelens.logs.guards import GuardTree

__all__ = ["called_by", "look_beside"]

#: Functions with breaks below one module from which on it is as good as all of it.
CROWDED = 3
#: Lines at which a ``forward`` breaks for each part that is compiled in place of it. A part is a
#: graph with guards of its own: with half as many calls took as long, with more longer.
CUTS_FOR_PART = 2


def look_beside(
    found: Iterable[BreakSite], breaks: Table[GraphBreak], trees: Table[GuardTree]
) -> None:
    """Write down at each break what is called beside it, where the guards name that.

    A break beside which nothing is called is marked as alone, and one below which several functions
    break and that has nothing but single layers beside it: to compile these would gain nothing.
    """
    found = list(found)
    if not len(trees):
        for site in found:
            site.guarded = False
    for site in found:
        if not site.direct:
            site.beside = called_at_others(site, trees)
        if site.direct and (caller := site.caller):
            places = [place for place, _ in site.events]
            held = called_by(caller.function, caller.file, places, trees)[1]
            site.others = tuple(one for one in held if not _is_given(one, caller.code))
    led, own = [site for site in found if site.via], [site for site in found if site.top]
    if not (led or own):
        return
    called, below = trees.derived(calls_by_line), breaks.derived(_below)
    layers = trees.derived(layer_counts)
    compiled = trees.derived(compiled_classes)
    lines, torn = breaks.derived(cuts), breaks.derived(_torn)
    whole = _wholes(compiled, torn)
    merged = {id(site): _merged(site, compiled) for site in own}
    broken = {*below, *(name for one in merged.values() if one for name in one.led)}
    paths = breaks.derived(_broken_paths) | {
        name for one in merged.values() if one for name in one.path
    }
    for site in own:
        if one := merged[id(site)]:
            site.led = one.led
            large = [name for name, of in one.beside.items() if not is_small(of)]
            site.torn = tuple(name for name in large if name in broken)
            whole_ones = [name for name in large if name not in broken]
            further = tuple(name for name in one.further if name not in paths)
            site.beside = most_first(whole_ones, one.beside, layers) or further
            continue
        parts = tuple(
            child.removeprefix("self.")
            for child, kind in _of_top(site, compiled).items()
            if child not in broken and not is_small(kind)
        )
        top = site.top
        is_gain = top is not None and lines[top.file, top.function] >= CUTS_FOR_PART * len(parts)
        if site.skipped and not parts:
            site.classes = _classes(site, torn, whole, compiled)
        site.parts, site.alone = (parts, False) if is_gain or not parts else ((), True)
    for site in led:
        name, frame = site.via[0]
        way = {name for name, _ in site.via}
        at = original(frame.function), frame.line
        near = called_at(frame.file, at, called)
        there = called_there(site, frame, called, compiled) | near
        there = {child: kind for child, kind in there.items() if child not in way}
        cut = {one for one in there if one in broken or holder_of(one, broken) is not None}
        site.torn = tuple(one for one in there if one in cut and not is_small(there[one]))
        mates = {
            child: kind
            for child, kind in there.items()
            if child not in cut and (child in near or _is_worth(kind, compiled))
        }
        large = [child for child, kind in mates.items() if not is_small(kind)]
        # What holds most layers comes first; where that is not known, the entries of a list, which
        # are most of a model, and what holds modules of its own before what is a layer.
        large.sort(key=lambda child: (_is_single(child), not _is_worth(mates[child], compiled)))
        site.beside = most_first(large, mates, layers) or _further_in(site, called, paths, compiled)
        crowded = len(below.get(name, ())) >= CROWDED or not mates
        site.alone = bool(near) and not site.beside and crowded


def _is_single(child: str) -> bool:
    return not child.rpartition(".")[2].isdecimal()


def _further_in(
    site: BreakSite, called: Called, broken: Collection[str], compiled: CompiledClasses
) -> tuple[str, ...]:
    """Return what the modules on the way call beside it, named from the compiled module on.

    Where a graph breaks, each of them is compiled by itself, and its guards name what it calls.
    Only modules that hold others are named: a single layer further in is worth no graph.
    """
    found: list[str] = []
    above = ""
    for name, frame in _path(site):
        if above:
            near = called_at(frame.file, (original(frame.function), frame.line), called)
            found += [
                whole
                for child, kind in near.items()
                if _is_worth(kind, compiled)
                and (whole := above + child.removeprefix("self")) not in broken
            ]
        above = (above or "self") + name.removeprefix("self")
    return tuple(found)


def called_by(
    function: str, file: str, places: Iterable[Place], trees: Table[GuardTree]
) -> tuple[str, tuple[str, ...]]:
    """Return the class whose method a compiled function is, and the modules that it calls.

    Nothing where its class is not known, or is not one, and of torch's own layers.
    """
    compiled = trees.derived(compiled_classes)
    kinds = {kind for place in places for kind in compiled.kinds.get(frame_of(place), ())}
    if len(kinds) != 1:
        return "", ()
    kind = kinds.pop()
    found: Children = {}
    for path in ends_of(file):
        found.update(compiled.calls.get((path, function, kind), {}))
    return kind, tuple(child for child, of in found.items() if not is_small(of))


def _is_given(module: str, code: str) -> bool:
    """Tell whether a line has a module, or a list that holds it, as an argument: no call of it."""
    held = ".".join(module.split(".")[:2])
    return bool(re.search(rf"(?<![\w.]){re.escape(held)}\b(?![(.])", code))


class _Way(NamedTuple):
    """What leads to a line, and what is called beside it."""

    led: tuple[str, ...]
    beside: Children
    #: What the modules on the way call beside it, named from the compiled module on.
    further: tuple[str, ...] = ()
    #: The modules on the way, named so.
    path: tuple[str, ...] = ()


def _merged(site: BreakSite, compiled: CompiledClasses) -> _Way | None:
    """Return the way to a line whose record leaves out modules that lead there; None without one.

    Torch 2.13 merges functions of one name that follow each other in a stack. What leads to the
    line is compiled next, function by function, and breaks there again: the guards of each name its
    class, and the modules that it calls. So one class after the other leads to the line.
    """
    if site.top is None:
        return None
    frames = dict.fromkeys(frame_of(place) for place, _ in site.events)
    outer, *classes = (compiled.kinds.get(frame, set()) for frame in frames)
    classes += [classes_at(site.top, compiled), classes_at(site.line, compiled)]
    if len(outer) != 1 or any(len(found) > 1 for found in classes):
        return None
    if len(frames) > 1 and not any(classes):  # it reads nothing of itself before it breaks
        called = compiled.wholes.get((min(outer), site.top.function), {})
        classes = [_in_file(site.line.file, called)]
    kinds = list(dict.fromkeys(kind for found in (outer, *classes) for kind in found))
    led: list[str] = []
    beside: Children = {}
    further: list[str] = []
    path: list[str] = []
    above = "self"
    for kind, inner in pairwise(kinds):
        called = compiled.wholes.get((kind, site.top.function), {})
        way = [name for name, of in (called | compiled.inside[kind]).items() if of == inner]
        leads = [one for one in called if any(f"{name}.".startswith(f"{one}.") for name in way)]
        others = {one: of for one, of in called.items() if one not in leads}
        if not led:
            beside = others
        else:
            further += [_below_of(above, o) for o, of in others.items() if _is_worth(of, compiled)]
        led += [_below_of(above, one) for one in leads]
        if len(way) != 1 or not leads:  # which of them leads on, is not known; or none does
            break
        path.append(above := _below_of(above, way[0]))
    return _Way(tuple(led), beside, tuple(further), tuple(path)) if led else None


def _in_file(file: str, called: Children) -> set[str]:
    """Return the class that a file holds, of those that are called; none where it holds several."""
    ends = set(ends_of(file))
    found = {
        kind
        for kind in called.values()
        if f"{kind.rpartition('.')[0].replace('.', '/')}.py" in ends
    }
    return found if len(found) == 1 else set()


def _below_of(above: str, name: str) -> str:
    return f"{above}.{name.removeprefix('self.')}"


def _is_worth(kind: str, compiled: CompiledClasses) -> bool:
    """Tell whether a module further in is more than a layer: it holds modules of its own."""
    return kind in compiled.holders and not kind.startswith(OF_TORCH)


def _of_top(site: BreakSite, compiled: CompiledClasses) -> Children:
    """Return what the compiled module's own ``forward`` calls, in which the line is.

    A record leaves out modules on the way, as torch merges functions of one name that follow each
    other in a stack: only the class of ``self`` tells that there are none. A line that several code
    objects break at is of the inner one, whose guards come later or never.
    """
    top = site.top
    if top is None:
        return {}
    frames = list(dict.fromkeys(frame_of(place) for place, _ in site.events))
    helpers = _helpers(frames, top.function, compiled)
    inner = [compiled.kinds.get(frame, set()) - helpers for frame in frames[1:]]
    unknown = [frame for frame in frames if frame not in compiled.kinds]
    if len(frames) > 1 and unknown and (unknown != frames[:1] or any(inner)):
        return {}
    kinds = {kind for frame in frames for kind in compiled.kinds.get(frame, ())} - helpers
    paths = list(ends_of(top.file))
    for path in paths:
        kinds |= compiled.lines.get((path, top.function, top.line), set())
    found: Children = {}
    if len(kinds) == 1:
        kind = kinds.pop()
        for path in paths:
            found.update(compiled.calls.get((path, top.function, kind), {}))
    return found


def _helpers(
    frames: Iterable[tuple[str, str, str]], function: str, compiled: CompiledClasses
) -> set[str]:
    """Return the classes of which other methods alone are compiled there, such as a batch's."""
    methods: dict[str, set[str]] = {}
    for frame in frames:
        kind, method = compiled.owners.get(frame, ("", ""))
        if method:
            methods.setdefault(kind, set()).add(original(method))
    return {kind for kind, found in methods.items() if function not in found}


#: The compiled functions in which the graph breaks at a line, by its file and number.
Torn = dict[tuple[str, int], list[tuple[str, str, str]]]
Process = tuple[str, str]


def _torn(breaks: Table[GraphBreak]) -> Torn:
    """Return which compiled functions break at each line."""
    found: Torn = {}
    for site in sites(breaks):
        frames = found.setdefault((site.line.file, site.line.line), [])
        frames += (frame_of(place) for place, _ in site.events)
    return found


def _classes(
    site: BreakSite, torn: Torn, whole: Mapping[Process, _Whole], compiled: CompiledClasses
) -> tuple[str, ...]:
    """Return the classes that a lost ``forward`` calls, where each is compiled without a break.

    Nothing where a function would not be compiled any more that has a graph of its own now.
    """
    here = torn[site.line.file, site.line.line]
    own = next((compiled.owners[frame][0] for frame in here if frame in compiled.owners), "")
    found = whole.get(here[0][:-1])
    if not own or found is None or own in found.kept or not found.unfit <= {own}:
        return ()
    return tuple(dict.fromkeys(kind.rpartition(".")[2] for kind in found.fit if kind != own))


class _Whole(NamedTuple):
    """What a process compiles, by the classes whose methods the functions are."""

    #: With a function that is compiled as the program has it, without a break.
    kept: set[str]
    #: With one that cannot be compiled in place of its caller: no ``forward``, or with a break.
    unfit: set[str]
    #: All, in the order of the log.
    fit: dict[str, None]


def _wholes(compiled: CompiledClasses, torn: Torn) -> dict[Process, _Whole]:
    """Return what each process compiles: looked through once, however many breaks there are."""
    broken = {frame for frames in torn.values() for frame in frames}
    found: dict[Process, _Whole] = {}
    for frame, (kind, function) in compiled.owners.items():
        whole = found.setdefault(frame[:-1], _Whole(set(), set(), {}))
        whole.fit[kind] = None
        if frame not in broken and original(function) == function:
            whole.kept.add(kind)
        if not kind or is_small(kind) or frame in broken or function != "forward":
            whole.unfit.add(kind)
    return found


def _below(breaks: Table[GraphBreak]) -> dict[str, set[tuple[str, str]]]:
    """Return the functions in which the graph breaks below each module."""
    found: dict[str, set[tuple[str, str]]] = {}
    for site in sites(breaks):
        for name, _ in site.via[:1]:
            found.setdefault(name, set()).add((site.line.file, site.line.function))
    return found


def _path(site: BreakSite) -> tuple[tuple[str, StackFrame], ...]:
    """Return the calls of ``via`` up to the first of a module that has no such name.

    What an entry of a list calls (``x = layer(x)``) is named from that entry on.
    """
    named: list[tuple[str, StackFrame]] = []
    for frame, inner in pairwise(site.stack[site.outside :]):
        called = user_code.is_module_call(inner) or inner.function == "forward"
        if not called or user_code.is_module_call(frame):
            continue
        if not (step := next((one for one in site.via if one[1] == frame), None)):
            break
        named.append(step)
    return tuple(named)


def _broken_paths(breaks: Table[GraphBreak]) -> set[str]:
    """Return all modules that lead to a break, each named from the compiled module on."""
    found = set()
    for site in sites(breaks):
        above = "self"
        for name, _ in _path(site):
            found.add(above := above + name.removeprefix("self"))
    return found
