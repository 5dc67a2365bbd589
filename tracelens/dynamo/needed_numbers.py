"""Numbers that a graph break reads, and what Python does with them behind it, by the guards."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tracelens.dynamo.guard_facts import without_gradients
from tracelens.dynamo.listed_numbers import ITEM, STEERS
from tracelens.dynamo.numpy_numbers import look_for_floats, look_for_numbers
from tracelens.dynamo.size_lines import slices_at
from tracelens.evidence import Table

if TYPE_CHECKING:
    from tracelens.dynamo.breaks import BreakSite
    from tracelens.logs.guards import GuardTree

__all__ = ["DECIDES", "attention_behind", "look_at_values"]

#: What has Python decide: its own statements, and the functions that compare.
DECIDES = re.compile(r"\b(?:if|elif|while|assert|min|max|range|round|int|float|bool|math)\b")
#: ... and no method of a tensor, as `x.max(n)`.
_DECIDES_ITSELF = re.compile(rf"(?<![\w.]){DECIDES.pattern}")
#: An entry of what resumes behind a break, for one value that the broken line left on the stack.
_ONE_VALUE = re.compile(r"L\['___stack\d{1,3}'\] == (-?\d{1,18})?")
#: The same for a list, by its length: of the stack, or of what the line assigned.
_LENGTH = re.compile(r"len\(L\['(\w{1,60})'\]\) == \d{1,18}\Z")
_LOOP = re.compile(r"\bfor .{1,80} in ")
#: Where it resumes.
_RESUMED = re.compile(r"torch_dynamo_resume_in_(\w{1,80}?)_at_(\d{1,6})\Z")
_RANGE = re.compile(r"\brange\(")
_ASSIGNED = re.compile(r"([A-Za-z_]\w{0,60}) = ")
#: ... or to what an object has: ``self.low = x.min().item()``.
_TARGET = re.compile(r"([A-Za-z_][\w.]{0,80}) = ")
#: What Inductor fails in with a length that no guard can be on.
_ATTENTION = "scaled_dot_product_attention"


class _Uses(NamedTuple):
    """What the guards say of the numbers that one line left behind."""

    values: set[str]
    lines: set[str]
    #: Names of lists that a loop goes over; those on the stack are called so.
    looped: set[str]
    #: Lines that need numbers of such a list.
    steering: set[str]
    #: All lines behind it that guards name, as of functions of Python that they call.
    named: set[str]


def look_at_values(found: Sequence[BreakSite], trees: Table[GuardTree]) -> None:
    """Write down at each break what the guards say of the values in its line."""
    look_for_numbers(found, trees)
    look_for_floats(found, trees)
    inference = trees.derived(without_gradients)
    for site in found:
        site.inference = inference
        at = site.line
        uses = trees.derived(_uses).get((_base(at.file), at.function, at.line))
        if uses is not None:
            later = uses.lines - {at.code}  # the rest of its own line is no decision: `int(n) + 1`
            site.decides = any(map(DECIDES.search, later))
            if target := _TARGET.match(at.code):  # min, round and the like are guarded themselves
                whole = re.compile(rf"(?<![\w.]){re.escape(target[1])}(?!\w)")
                others = (line for line in uses.named - {at.code} if whole.search(line))
                site.decides |= any(map(_DECIDES_ITSELF.search, others))
            site.used = min(later, default="")
            # Dynamo makes a number that changed a symbol: a second constant is one Python needs.
            site.needs_number = len(uses.values) > 1 or any(map(_RANGE.search, uses.lines))
            site.steers = any(map(STEERS.search, uses.steering - {at.code}))
            name = _ASSIGNED.match(at.code)
            site.listed = any(
                one.startswith("___stack") or (name and name[1] == one) for one in uses.looped
            )
            if name:
                site.cut = next((line for line in sorted(later) if slices_at(line, name[1])), "")
            if name and trees.derived(_attends):
                site.bounds = bool(site.cut)


def _base(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2]


#: ... and torch's module that calls it.
_ATTENTION_MODULE = "torch.nn.modules.activation.MultiheadAttention"


def attention_behind(trees: Table[GuardTree]) -> set[tuple[str, str, int]]:
    """Return the breaks behind which attention is computed, by file, function and line.

    Inductor raises where it gets a tensor with a length that no guard can be on.
    """
    found: set[tuple[str, str, int]] = set()
    for row in trees:
        guards = row.record.guards
        if any(_ATTENTION in g.expression or _ATTENTION_MODULE in g.expression for g in guards):
            comments = (guard.comment for guard in guards if guard.comment is not None)
            for one in comments:
                if behind := _RESUMED.match(one.function):
                    found.add((_base(one.file), behind[1], int(behind[2])))
    return found


def _attends(trees: Table[GuardTree]) -> bool:
    return any(_ATTENTION in one.expression for row in trees for one in row.record.guards)


def _uses(trees: Table[GuardTree]) -> dict[tuple[str, str, int], _Uses]:
    """Return what is done with numbers behind a break, by its file, function and line."""
    found: dict[tuple[str, str, int], _Uses] = {}
    for row in trees:
        for guard in row.record.guards:
            said = guard.comment
            behind = _RESUMED.match(said.function) if said is not None else None
            if said is None or behind is None:
                continue
            at = (_base(said.file), behind[1], int(behind[2]))
            uses = found.setdefault(at, _Uses(set(), set(), set(), set(), set()))
            uses.named.add(said.code)
            value = _ONE_VALUE.match(guard.expression)
            held = _LENGTH.match(guard.expression)
            item = ITEM.match(guard.expression)
            if not (value or held or item):
                continue
            if item is not None:
                uses.steering.add(said.code)
                continue
            if value is None:
                name = held[1] if held and _LOOP.search(said.code) else ""
                uses.looped.update({name} if name else ())
                continue
            uses.lines.add(said.code)
            whole = guard.expression[value.end() : value.end() + 1] not in {".", "e"}
            if value[1] and whole:
                uses.values.add(value[1])
    return found
