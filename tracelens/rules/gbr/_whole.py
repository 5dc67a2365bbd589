"""A plain function of a package that is given up, and in which many lines break the graph."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite
from tracelens.remedies import Remedy
from tracelens.report import FindingData
from tracelens.report.stories import as_written
from tracelens.rules.gbr._break_data import BreakData

__all__ = ["LEAVE_FUNCTION_OUT", "WHOLE", "Calls", "Whole", "whole_in", "whole_of"]

#: So many lines: each of them ends a graph, and what is between is little.
MANY = 4
WHOLE = "leave-function-out"
_PACKAGES = re.compile(r"-packages/(?P<module>\w{1,80}(?:/\w{1,80}){0,9})\.py$")


class Whole(FindingData):
    """The function, the module that calls it by its name, and how many lines in it break."""

    function: str
    module: str
    lines: int


class Calls:
    """The lines that break, by where they are and by the functions that lead to them."""

    def __init__(self, sites: Iterable[BreakSite]) -> None:
        self.at: dict[tuple[str, int], list[BreakSite]] = {}
        self.within: dict[tuple[str, str], set[tuple[str, int]]] = {}
        for site in sites:
            self.at.setdefault((site.line.file, site.line.line), []).append(site)
            for frame in site.stack:
                lines = self.within.setdefault((frame.file, frame.function), set())
                lines.add((site.record.file, site.record.line))


def whole_of(data: BreakData, calls: Calls) -> Whole | None:
    """Return the function around a line that was given up, if it can be left out from outside.

    A line of the package calls it by a name of its module, so that the name can be set there.
    """
    if not (data.package and data.skipped):
        return None
    lost = {as_written(name) for name in data.lost} & set(data.lost)
    for site in calls.at.get((data.file, data.line), ()):
        for above, below in zip(site.stack, site.stack[1:], strict=False):
            name = below.function
            if name not in lost or not re.search(rf"(?<![\w.]){re.escape(name)}\(", above.code):
                continue
            found = _PACKAGES.search(above.file.replace("\\", "/"))
            if found is None or user_code.package(above.file) != data.package:
                continue
            lines = len(calls.within[below.file, name])
            if lines >= MANY:
                module = found["module"].replace("/", ".").removesuffix(".__init__")
                return Whole(function=name, module=module, lines=lines)
    return None


def whole_in(data: object) -> Whole | None:
    """Return the function that the finding about a line holds."""
    found = getattr(data, "whole", None)
    return found if isinstance(found, Whole) else None


def _told(data: object) -> str:
    found = whole_in(data)
    if found is None:  # the page that lists all advice
        return "Leave the function out of what is compiled."
    return (
        f"Leave `{found.function}` out of what is compiled, before the first call: {found.lines} "
        "lines in it break the graph, and what is between them is compiled piece by piece."
    )


def _code(data: object) -> str | None:
    found = whole_in(data)
    if found is None:
        return None
    return (
        "import importlib\n"
        f'module = importlib.import_module("{found.module}")\n'
        f"module.{found.function} = torch.compiler.disable(module.{found.function})"
    )


LEAVE_FUNCTION_OUT = Remedy(
    WHOLE,
    _told,
    when="a plain function of a package, given up for a loop, that the package calls by its name, "
    "and in which four lines or more break the graph",
    applies=lambda data: whole_in(data) is not None,
    code=_code,
    since="2.1",
    basis="tested",
    proof="tests/advice/GBR008/leave-function-out.py",
)
