"""Numbers that compiled code computes of floats and needs as numbers: constants of their entries.

Torch's pass guards each: ``(0.05*e + 0.95*self.level) == 0.29``. Where the code of an entry comes
out of AOTAutograd's cache, torch 2.13 leaves the guard out, and the number of an older call stays.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo.entry_guards import entry_of
from tracelens.dynamo.recompile_history import Step
from tracelens.evidence import Table
from tracelens.logs.guards import GuardTree
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Severity
from tracelens.rules.rcp._data import guards_of
from tracelens.rules.rcp._relation import RelationData, names_in

if TYPE_CHECKING:
    from tracelens.logs.output_code import OutputModule

__all__ = ["COMPUTED", "computed", "grades", "words"]

#: The guard is missing, and the number stands in the code; nothing tells; the guard is there.
LOST, UNSEEN, HELD = "lost", "unseen", "held"
#: Floats in one formula.
SEVERAL = 2
#: Torch's pass that makes constants of floats.
_BY = "tensorify"
_LOCAL = re.compile(r"\b[LG]\['(\w{1,80})'\]")
#: An attribute of the program's own object.
_KEPT = re.compile(r"self(?:\.\w{1,80}){1,8}\Z")
_COMPARE = (
    "Compare the results with those of eager code, or of TORCHINDUCTOR_AUTOGRAD_CACHE=0: where it "
    "takes code from its cache, torch 2.13 leaves the guard on such a number out."
)


def computed(steps: list[Step], trees: Table[GuardTree], modules: Table[OutputModule]) -> str:
    """Tell what became of the guard on a number that is computed of floats; empty for others.

    One that is held and computed of one float is told as the other conditions on a number are.
    """
    found = _guarded(steps, trees, modules)
    alone = len(names_in(guards_of([steps[-1].check])[0].name)) < SEVERAL
    return "" if found == HELD and alone else found


def _guarded(steps: list[Step], trees: Table[GuardTree], modules: Table[OutputModule]) -> str:
    step = steps[-1]
    comment = step.failure.comment if step.failure else None
    guard = guards_of([step.check])[0]
    if comment is None or _BY not in comment.origin or guard.operator != "==":
        return ""
    made = entry_of(step.place, trees)
    if not made:  # two entries with one: the code of the second came out of no cache
        return HELD if len({guards_of([one.check])[0].expected for one in steps}) > 1 else UNSEEN
    guards = [one for tree in made for one in tree.guards]
    if any(one.comment and _BY in one.comment.origin for one in guards):
        return HELD
    symbols = {_LOCAL.sub(r"\1", one.expression) for one in guards if "isnan(" in one.expression}
    names = names_in(guard.name)
    if not all(any(f"({name})" in one for one in symbols) for name in names):
        return HELD  # the floats themselves are constants by now, each with a guard
    code = list(_code(step, modules))
    number = re.compile(rf"(?<![\w.]){re.escape(guard.expected)}(?![\w.])")
    return LOST if any(map(number.search, code)) or not code else UNSEEN


def _code(step: Step, modules: Table[OutputModule]) -> Iterator[str]:
    for module in modules.derived(_by_compilation).get(step.place.compilation, ()):
        yield from (one.source for one in module.kernel_defs)
        yield from (one.wrapper for one in module.cpp_parts)
        yield module.wrapper


def _by_compilation(modules: Table[OutputModule]) -> dict[object, list[OutputModule]]:
    """Return what was generated for each compilation: looked up for every number."""
    found: defaultdict[object, list[OutputModule]] = defaultdict(list)
    for place, seen in modules.events():
        found[place.compilation].append(seen.record)
    return found


def grades(data: RelationData) -> tuple[Severity | None, Confidence | None]:
    """Return how bad and how sure it is, where that is not as for other conditions."""
    if data.computed == LOST:
        return Severity.ERROR, Confidence.MEDIUM
    if data.computed == UNSEEN:
        return Severity.WARNING, Confidence.MEDIUM
    return None, None


def words(data: RelationData) -> tuple[str, str]:
    """Return title and message."""
    guard = data.guards[-1]
    number, told = f"`{guard.name}`", f"{guard.name} == {guard.expected}"
    what = f"Code needs {number} as a number, so an entry holds it as a constant: `{told}`."
    if data.computed == HELD:
        title = f"`{data.function}` is compiled for each value of {number}"
        return title, f"{what} Each value is an entry. {_COMPARE}"
    title = f"results may be wrong: `{data.function}` holds {number} as a constant"
    if data.computed == UNSEEN:
        return (
            title,
            f"{what} Whether the entry compiled next has this guard is not seen. {_COMPARE}",
        )
    return title, (
        f"{what} It did not fit a call, and the entry compiled next has no such guard: it fits "
        f"other numbers as well, with {guard.expected} as a constant. {_COMPARE}"
    )


def _as_tensors(data: RelationData) -> str:
    kept = [name for name in names_in(data.guards[-1].name) if _KEPT.match(name)]
    such = f", such as `{kept[0]}`" if kept else ""
    read = " Do not read it by `.item()`." if "___stack" in data.guards[-1].name else ""
    return (
        f"Compute with 0-d tensors in place of Python's floats{such}, in double precision "
        f"where they are to be exact, and keep or return a tensor.{read} What a module keeps "
        "is a buffer then, to which `forward` assigns a new tensor."
    )


COMPUTED = Remedy(
    "keep-computed",
    _as_tensors,
    when="a number that compiled code computes of floats is a constant",
    applies=lambda data: bool(data.computed) and not data.is_of_library,
    basis="tested",
    proof="tests/advice/RCP023/keep-computed.py",
)
