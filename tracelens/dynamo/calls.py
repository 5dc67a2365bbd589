"""What compiled functions call, as the guards of a log name it: modules and their classes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tracelens.evidence import Place, Table
from tracelens.logs.guards import GuardTree

if TYPE_CHECKING:
    from tracelens.logs._comment import Comment

__all__ = [
    "OF_TORCH",
    "Called",
    "Children",
    "CompiledClasses",
    "called_at",
    "calls_by_line",
    "compiled_classes",
    "ends_of",
    "frame_of",
    "holder_of",
    "is_small",
    "original",
]

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
#: Modules that a tree guards, what each is, and the line that reached it.
_Modules: TypeAlias = "list[tuple[str, str, Comment | None]]"
OF_TORCH = "torch.nn.modules."
#: Torch's modules of many operators; of any other, a graph of its own gains nothing.
_LARGE = re.compile(r"torch\.nn\.modules\.(?:container|transformer|rnn|activation\.Multihead)")
#: More modules of one function than that are not remembered: no advice names so many.
MOST = 64
#: The same, of modules of all depths.
DEEPER = 1_000
#: Folders of a path, the innermost ones, by which a file may be named.
DEEP = 40
#: Modules that a function calls, such as ``self.encoder``, and their classes.
Children = dict[str, str]
#: The same, by the file of the function, its name and a line of it that calls.
Called = dict[tuple[str, str, int], Children]


def called_at(file: str, at: tuple[str, int], called: Called) -> Children:
    """Return the modules that a function calls, by its file, its name and a line of it."""
    near: Children = {}
    for path in ends_of(file):
        near.update(called.get((path, *at), {}))
    return near


class CompiledClasses(NamedTuple):
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
    #: The classes of modules that hold modules.
    holders: set[str]
    #: The class whose method each frame is, and the method; nothing where ``self`` is not guarded.
    owners: dict[tuple[str, str, str], tuple[str, str]]


def compiled_classes(trees: Table[GuardTree]) -> CompiledClasses:
    """Return what the guards tell of the classes whose methods are compiled."""
    found = CompiledClasses({}, {}, {}, {}, {}, {}, set(), {})
    for row in trees:
        kind, comment = _owner(row.record)
        function = comment.function if comment else ""
        for place in row.places:
            found.owners.setdefault(frame_of(place), (kind, function))
        if not kind:
            continue
        if comment and comment.file and (resumed := _RESUMED.match(function)):
            at = _path(comment), resumed[1], int(resumed[2])
            found.resumed.setdefault(at, set()).add(kind)
        modules = _modules(row.record)
        inside = {name: held for name, held, _ in modules}
        found.holders.update(inside[top] for name in inside if (top := holder_of(name, inside)))
        _add(found.inside.setdefault(kind, {}), inside, DEEPER)
        for place in row.places:
            found.kinds.setdefault(frame_of(place), set()).add(kind)
        for (path, function), (lines, children) in _of_tree(modules).items():
            _add(found.calls.setdefault((path, function, kind), {}), children)
            _add(found.wholes.setdefault((kind, function), {}), children)
            for line in lines:
                found.lines.setdefault((path, function, line), set()).add(kind)
    return found


def _owner(tree: GuardTree) -> tuple[str, Comment | None]:
    for guard in tree.guards:
        if match := _SELF.match(guard.expression):
            return match[1], guard.comment
    return "", None


def _path(comment: Comment) -> str:
    """Return the end of a path that a comment names: torch cuts its first part off."""
    file = comment.file.replace("\\", "/")
    return file.partition("/")[2] or file


def ends_of(file: str) -> Iterator[str]:
    """Yield the ends of a path, by one of which a guard's comment names the file."""
    parts = file.replace("\\", "/").split("/")
    return ("/".join(parts[start:]) for start in range(max(0, len(parts) - DEEP), len(parts)))


def _add(children: Children, more: Children, most: int = MOST) -> None:
    for child, kind in more.items():
        if len(children) >= most:
            break
        children.setdefault(child, kind)


def frame_of(place: Place) -> tuple[str, str, str]:
    """Return the process and the number of a compiled function."""
    return *place.process, place.frame.partition("/")[0]


def calls_by_line(trees: Table[GuardTree]) -> Called:
    """Return the modules that a function calls, by its file, its name and its lines that call.

    Classes of one file have functions of one name: a line tells them apart. What runs behind a
    graph break is compiled by itself, and has the number of the break's line in its name.
    """
    #: Lines that one tree has called from are of one function, whose first line stands for all.
    first: dict[tuple[str, str, int], tuple[str, str, int]] = {}
    found: Called = {}
    for row in trees:
        for (file, function), (lines, children) in _of_tree(_modules(row.record)).items():
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


def _of_tree(modules: _Modules) -> dict[tuple[str, str], tuple[set[int], Children]]:
    """Return the modules that compiled functions call themselves, and their lines."""
    known: dict[str, tuple[str, Comment]] = {}
    for name, kind, comment in modules:
        if comment and comment.file:
            known.setdefault(name, (kind, comment))
    found: dict[tuple[str, str], tuple[set[int], Children]] = {}
    for name, (kind, comment) in known.items():
        if holder_of(name, known) is None:
            at = _path(comment), original(comment.function)
            lines, children = found.setdefault(at, (set(), {}))
            lines.add(comment.line)
            if resumed := _RESUMED.match(comment.function):
                lines.add(int(resumed[2]))
            if not _by_method(name, comment.code, known):
                children[name] = kind
    return found


def _by_method(name: str, code: str, known: Collection[str]) -> bool:
    """Tell whether a line calls another method of a module alone, such as ``self.ctc.decode(x)``.

    To compile the module would compile its ``forward``, which is not called.
    """
    if f"{name}." not in code or f"{name}(" in code:  # no pattern is made for most of them
        return False
    methods = re.findall(rf"(?<![\w.]){re.escape(name)}\.(\w+)\(", code)
    others = [one for one in methods if one != "forward" and f"{name}.{one}" not in known]
    return bool(others) and others == methods


def holder_of(child: str, known: Collection[str]) -> str | None:
    """Return which of the ``known`` modules holds a module; None if none does."""
    parts = child.split(".")
    above = (".".join(parts[:end]) for end in range(2, len(parts)))
    return next((one for one in above if one in known), None)


def _modules(tree: GuardTree) -> _Modules:
    found: _Modules = []
    for guard in tree.guards:  # thousands of guards, of which few are of modules
        match = _CHILD.match(guard.expression) if guard.kind == "TYPE_MATCH" else None
        if match is not None and not match[2].endswith(_HOLDERS):
            name = "self." + ".".join(_PART.findall(match[1]))
            found.append((name, match[2], guard.comment))
    return found


def original(function: str) -> str:
    """Return the name of a function, also of what runs behind a break in it."""
    match = _RESUMED.match(function)
    return match[1] if match else function


def is_small(kind: str) -> bool:
    """Tell whether a class is a single layer of torch's."""
    return kind.startswith(OF_TORCH) and not _LARGE.match(kind)
