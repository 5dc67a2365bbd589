"""Modules that a compiled function calls at other lines than the one that leads to a break."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tracelens.dynamo.calls import ends_of, frame_of, original
from tracelens.late import late

if TYPE_CHECKING:
    from tracelens.dynamo.breaks import BreakSite
    from tracelens.evidence import Table
    from tracelens.logs._comment import Comment
    from tracelens.logs.guards import GuardTree

__all__ = ["called_at_others"]

#: The process and the number of a compiled function.
Frame = tuple[str, str, str]

#: A module that a function reaches by a name of its own: a global, or an argument.
_NAMED = late(r"___check_type_id\([GL]\['(?P<name>(?!self')\w{1,60})'\], \d{1,20}\), type=")
#: What such a module holds.
_HELD = late(r"___check_type_id\([GL]\['(?P<name>\w{1,60})'\]\._modules\['")


def called_at_others(site: BreakSite, trees: Table[GuardTree]) -> tuple[str, ...]:
    """Return modules, by their names in the program's function that calls a package.

    A network and the loss of a package, which breaks the graph: the network is called at another
    line, and no break is within it. Only what holds modules of its own is named.
    """
    line = site.caller
    if line is None or line.function == "<module>" or site.via or site.top or site.in_optimizer:
        return ()
    frames = dict.fromkeys(frame_of(place) for place, _ in site.events)
    broken = {(frame.file, frame.line) for frame in site.stack}
    files = set(ends_of(line.file))
    named: dict[str, None] = {}
    known = trees.derived(_called)
    for name, said in (one for frame in frames for one in known.get(frame, ())):
        of_file = (said.file.partition("/")[2] or said.file) in files
        of_function = original(said.function) == original(line.function)
        if of_file and of_function and (line.file, said.line) not in broken:
            named[name] = None
    return tuple(named)


def _called(trees: Table[GuardTree]) -> dict[Frame, list[tuple[str, Comment]]]:
    """Return the modules with modules of their own that each function calls by a name."""
    found: dict[Frame, list[tuple[str, Comment]]] = {}
    for row in trees:
        held = {
            one["name"] for guard in row.record.guards if (one := _HELD.match(guard.expression))
        }
        for guard in row.record.guards if held else ():
            one, said = _NAMED.match(guard.expression), guard.comment
            if one is None or said is None or one["name"] not in held:
                continue
            if re.search(rf"(?<![\w.]){one['name']}\(", said.code):
                for frame in dict.fromkeys(map(frame_of, row.places)):
                    found.setdefault(frame, []).append((one["name"], said))
    return found
