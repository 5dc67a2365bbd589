"""What is called beside the modules that lead to a graph break: it may be compiled instead."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from tracelens.dynamo.breaks import BreakSite, cuts, sites
from tracelens.evidence import Place, Table
from tracelens.logs._checks import Comment
from tracelens.logs._stack import StackFrame
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.guards import Guard, GuardTree

__all__ = ["called_by", "look_beside"]

_CHILD = re.compile(
    r"___check_type_id\(L\['self'\]((?:\._modules\['\w{1,60}'\]){1,20}), \d+\)"
    r", type=<class '([\w.]+)'>"
)
#: Guards on the class of the module whose method is compiled.
_SELF = re.compile(r"___check_type_id\(L\['self'\], \d+\), type=<class '([\w.]+)'>")
_PART = re.compile(r"'(\w+)'")
_RESUMED = re.compile(r"torch_dynamo_resume_in_(\w+)_at_(\d{1,9})$")
#: They have no ``forward``: what they hold is called.
_HOLDERS = ("ModuleList", "ModuleDict", "ParameterList", "ParameterDict")
#: Torch's modules of many operators; of any other, a graph of its own gains nothing.
_LARGE = re.compile(r"torch\.nn\.modules\.(?:container|transformer|rnn|activation\.Multihead)")
#: Functions with breaks below one module from which on it is as good as all of it.
CROWDED = 3
#: More modules of one function than that are not remembered: no advice names so many.
MOST = 64
#: The same, of modules of all depths.
DEEPER = 1_000
#: Folders of a path, the innermost ones, by which a file may be named.
DEEP = 40

#: Modules that a function calls, such as ``self.encoder``, and their classes.
Children = dict[str, str]


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
    led, own = [site for site in found if site.via], [site for site in found if site.top]
    if not led and not own:
        return
    called, below = trees.derived(_called), breaks.derived(_below)
    compiled = trees.derived(_compiled)
    lines = breaks.derived(cuts)
    merged = {id(site): _merged(site, compiled) for site in own}
    broken = {*below, *(name for one in merged.values() if one for name in one.led)}
    for site in own:
        if one := merged[id(site)]:
            site.led = one.led
            site.beside = tuple(
                child
                for child, kind in one.beside.items()
                if child not in broken and not _is_small(kind)
            )
            continue
        parts = tuple(
            child.removeprefix("self.")
            for child, kind in _of_top(site, compiled).items()
            if child not in broken and not _is_small(kind)
        )
        top = site.top
        is_gain = top is not None and lines[top.file, top.function] >= CUTS_FOR_PART * len(parts)
        site.parts, site.alone = (parts, False) if is_gain or not parts else ((), True)
    for site in led:
        name, frame = site.via[0]
        way = {name for name, _ in site.via}
        at = _original(frame.function), frame.line
        near: Children = {}
        for path in _ends(frame.file):
            near.update(called.get((path, *at), {}))
        mates = {
            child: kind
            for child, kind in near.items()
            if child not in broken and child not in way and _holder(child, broken) is None
        }
        site.beside = tuple(child for child, kind in mates.items() if not _is_small(kind))
        crowded = len(below.get(name, ())) >= CROWDED or not mates
        site.alone = bool(near) and not site.beside and crowded


def called_by(
    function: str, file: str, places: Iterable[Place], trees: Table[GuardTree]
) -> tuple[str, tuple[str, ...]]:
    """Return the class whose method a compiled function is, and the modules that it calls.

    Nothing where its class is not known, or is not one, and of torch's own layers.
    """
    compiled = trees.derived(_compiled)
    kinds = {kind for place in places for kind in compiled.kinds.get(_frame(place), ())}
    if len(kinds) != 1:
        return "", ()
    kind = kinds.pop()
    found: Children = {}
    for path in _ends(file):
        found.update(compiled.calls.get((path, function, kind), {}))
    return kind, tuple(child for child, of in found.items() if not _is_small(of))


class _Compiled(NamedTuple):
    """What the guards tell of the classes whose methods are compiled."""

    #: The classes of each frame.
    kinds: dict[tuple[str, str, str], set[str]]
    #: The classes at each line that calls a module: by its file, its function and its number.
    lines: dict[tuple[str, str, int], set[str]]
    #: What each class calls, by its file, its function and its name.
    calls: dict[tuple[str, str, str], Children]
    #: The modules of all depths that the guards of each class name.
    inside: dict[str, Children]
    #: The classes of what is compiled behind a break: by its file, its function and its line.
    resumed: dict[tuple[str, str, int], set[str]]
    #: What each class calls in its functions of a name, in whichever file.
    wholes: dict[tuple[str, str], Children]


def _compiled(trees: Table[GuardTree]) -> _Compiled:
    found = _Compiled({}, {}, {}, {}, {}, {})
    for row in trees:
        own = ((_SELF.match(guard.expression), guard.comment) for guard in row.record.guards)
        kind, comment = next(((match[1], at) for match, at in own if match), ("", None))
        if not kind:
            continue
        for place in row.places:
            found.kinds.setdefault(_frame(place), set()).add(kind)
        if comment and comment.file and (resumed := _RESUMED.match(comment.function)):
            at = _path(comment), resumed[1], int(resumed[2])
            found.resumed.setdefault(at, set()).add(kind)
        inside = dict(filter(None, map(_child, row.record.guards)))
        _add(found.inside.setdefault(kind, {}), inside, DEEPER)
        for (path, function), (lines, children) in _of_tree(row.record).items():
            _add(found.calls.setdefault((path, function, kind), {}), children)
            _add(found.wholes.setdefault((kind, function), {}), children)
            for line in lines:
                found.lines.setdefault((path, function, line), set()).add(kind)
    return found


def _path(comment: Comment) -> str:
    """Return the end of a path that a comment names: torch cuts its first part off."""
    file = comment.file.replace("\\", "/")
    return file.partition("/")[2] or file


class _Way(NamedTuple):
    """What leads to a line, and what is called beside it."""

    led: tuple[str, ...]
    beside: Children


def _merged(site: BreakSite, compiled: _Compiled) -> _Way | None:
    """Return the way to a line whose record leaves out modules that lead there; None without one.

    Torch 2.13 merges functions of one name that follow each other in a stack. What leads to the
    line is compiled next, function by function, and breaks there again: the guards of each name its
    class, and the modules that it calls. So one class after the other leads to the line.
    """
    if site.top is None:
        return None
    frames = dict.fromkeys(_frame(place) for place, _ in site.events)
    classes = [compiled.kinds.get(frame, set()) for frame in frames]
    classes.append(_at(site.line, compiled))
    if not classes[0] or any(len(found) > 1 for found in classes):
        return None
    kinds = list(dict.fromkeys(kind for found in classes for kind in found))
    led: list[str] = []
    beside: Children = {}
    above = "self"
    for kind, inner in pairwise(kinds):
        called = compiled.wholes.get((kind, site.top.function), {})
        way = _leading(called, inner, compiled.inside.get(kind, {}))
        _add(beside, {_below_of(above, one): of for one, of in called.items() if one not in way})
        led += [_below_of(above, one) for one in way]
        if len(way) != 1:  # which of them leads on, is not known; or none does
            break
        above = led[-1]
    return _Way(tuple(led), beside) if led else None


def _at(line: StackFrame, compiled: _Compiled) -> set[str]:
    """Return the classes of what is compiled behind a break at a line."""
    ends = [(path, _original(line.function), line.line) for path in _ends(line.file)]
    return {kind for at in ends for kind in compiled.resumed.get(at, ())}


def _leading(called: Children, kind: str, inside: Children) -> list[str]:
    """Return which of the called modules are of a class, or hold one of it."""
    way = [name for name, of in (called | inside).items() if of == kind]
    return [one for one in called if any(f"{name}.".startswith(f"{one}.") for name in way)]


def _below_of(above: str, name: str) -> str:
    return f"{above}.{name.removeprefix('self.')}"


def _of_top(site: BreakSite, compiled: _Compiled) -> Children:
    """Return what the compiled module's own ``forward`` calls, in which the line is.

    A record leaves out modules on the way, as torch merges functions of one name that follow each
    other in a stack: only the class of ``self`` tells that there are none. A line that several code
    objects break at is of the inner one, whose guards come later or never.
    """
    top = site.top
    if top is None:
        return {}
    frames = {_frame(place) for place, _ in site.events}
    if len(frames) > 1 and any(frame not in compiled.kinds for frame in frames):
        return {}
    kinds = {kind for frame in frames for kind in compiled.kinds.get(frame, ())}
    paths = list(_ends(top.file))
    for path in paths:
        kinds |= compiled.lines.get((path, top.function, top.line), set())
    found: Children = {}
    if len(kinds) == 1:
        kind = kinds.pop()
        for path in paths:
            found.update(compiled.calls.get((path, top.function, kind), {}))
    return found


def _ends(file: str) -> Iterator[str]:
    """Yield the ends of a path, by one of which a guard's comment names the file."""
    parts = file.replace("\\", "/").split("/")
    return ("/".join(parts[start:]) for start in range(max(0, len(parts) - DEEP), len(parts)))


def _add(children: Children, more: Children, most: int = MOST) -> None:
    for child, kind in more.items():
        if len(children) >= most:
            break
        children.setdefault(child, kind)


def _frame(place: Place) -> tuple[str, str, str]:
    return *place.process, place.frame.partition("/")[0]


def _below(breaks: Table[GraphBreak]) -> dict[str, set[tuple[str, str]]]:
    """Return the functions in which the graph breaks below each module."""
    found: dict[str, set[tuple[str, str]]] = {}
    for site in sites(breaks):
        for name, _ in site.via[:1]:
            found.setdefault(name, set()).add((site.line.file, site.line.function))
    return found


def _called(trees: Table[GuardTree]) -> dict[tuple[str, str, int], Children]:
    """Return the modules that a function calls, by its file, its name and its lines that call.

    Classes of one file have functions of one name: a line tells them apart. What runs behind a
    graph break is compiled by itself, and has the number of the break's line in its name.
    """
    #: Lines that one tree has called from are of one function, whose first line stands for all.
    first: dict[tuple[str, str, int], tuple[str, str, int]] = {}
    found: dict[tuple[str, str, int], Children] = {}
    for row in trees:
        for (file, function), (lines, children) in _of_tree(row.record).items():
            heads = list(dict.fromkeys(_head(first, (file, function, line)) for line in lines))
            whole = found.setdefault(heads[0], {})
            for other in heads[1:]:
                first[other] = heads[0]
                _add(whole, found.pop(other, {}))
            _add(whole, children)
    return {at: found[_head(first, at)] for at in list(first)}


def _head(
    first: dict[tuple[str, str, int], tuple[str, str, int]], at: tuple[str, str, int]
) -> tuple[str, str, int]:
    """Return the line that stands for one and for those that it was joined with."""
    head = at
    while (above := first.setdefault(head, head)) != head:
        head = above
    while at != head:
        first[at], at = head, first[at]
    return head


def _of_tree(tree: GuardTree) -> dict[tuple[str, str], tuple[set[int], Children]]:
    """Return the modules that compiled functions call themselves, and their lines."""
    known: dict[str, tuple[str, Comment]] = {}
    for guard in tree.guards:
        if (child := _child(guard)) and guard.comment and guard.comment.file:
            known.setdefault(child[0], (child[1], guard.comment))
    found: dict[tuple[str, str], tuple[set[int], Children]] = {}
    for name, (kind, comment) in known.items():
        if _holder(name, known) is None:
            at = _path(comment), _original(comment.function)
            lines, children = found.setdefault(at, (set(), {}))
            lines.add(comment.line)
            if resumed := _RESUMED.match(comment.function):
                lines.add(int(resumed[2]))
            children[name] = kind
    return found


def _holder(child: str, known: Collection[str]) -> str | None:
    """Return which of the ``known`` modules holds a module; None if none does."""
    parts = child.split(".")
    above = (".".join(parts[:end]) for end in range(2, len(parts)))
    return next((one for one in above if one in known), None)


def _child(guard: Guard) -> tuple[str, str] | None:
    match = _CHILD.match(guard.expression) if guard.kind == "TYPE_MATCH" else None
    if match is None or match[2].endswith(_HOLDERS):
        return None
    return "self." + ".".join(_PART.findall(match[1])), match[2]


def _original(function: str) -> str:
    match = _RESUMED.match(function)
    return match[1] if match else function


def _is_small(kind: str) -> bool:
    return kind.startswith("torch.nn.modules.") and not _LARGE.match(kind)
