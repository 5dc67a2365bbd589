"""A number that each entry of a function has another value of, behind a size that fails first.

A recompile names the first guard that fails. Where that is the size of an input, the log says
nothing of a counter that the function's module keeps: no entry would be used again without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from tracelens.dynamo.entry_guards import entry_called, entry_of
from tracelens.dynamo.held_values import CERTAIN, Held, held_at
from tracelens.dynamo.recompile_causes import cause_of
from tracelens.dynamo.recompile_history import History, Step, histories
from tracelens.logs.recompiles import GuardFailure, Recompile, Source, ValueCheck
from tracelens.report import EvidenceLine, Finding
from tracelens.rules.rcp._changes import Group, limit_of, owner
from tracelens.rules.rcp._data import SIZES

if TYPE_CHECKING:
    from tracelens.evidence import Place, Seen, Table
    from tracelens.logs.guards import Guard, GuardTree
    from tracelens.logs.recompile_limits import RecompileLimit

__all__ = ["behind_sizes", "quoting_guards"]

_ATTRIBUTE = re.compile(r"(?P<head>\w{1,80})(?P<path>(?:\.\w{1,80}){1,20})\Z")
MAX_QUOTED = 5


def behind_sizes(
    code: str,
    known: list[Group],
    recompiles: Table[Recompile],
    limits: Table[RecompileLimit],
    trees: Table[GuardTree],
) -> Iterator[Group]:
    """Yield a group for each number that rule ``code`` is about, and no recompile names.

    Args:
        code: A rule's code.
        known: The groups of numbers that recompiles name.
        recompiles: All recompiles.
        limits: The functions that Dynamo gave up on.
        trees: The guards of all entries.
    """
    told = {(history.definition, _name(step)) for one in known for history, step in one.steps}
    found = histories(recompiles) if len(trees) else ()
    last = max((history.steps[-1].number for history in found), default=0)
    for history in found:
        sized = [step for step in history.steps if owner(step).code in SIZES]
        if not sized or history.steps[-1].number + 1 < CERTAIN:
            continue
        for held in held_at(sized[0].place, trees):
            is_told = (history.definition, held.source) in told
            if is_told or not _is_counter(held, history, sized):
                continue
            steps = [_about(held, step, trees) for step in sized]
            failure = steps[0].failure
            hint = failure.comment.hint if failure and failure.comment else ""
            cause = cause_of(steps[0].check, hint)
            if cause.code == code:
                limit, is_hit = limit_of(history.definition, limits, last)
                group = Group(cause, [(history, step) for step in steps], limit, is_hit)
                group.held, group.behind = held.values, _name(sized[0])
                yield group


def quoting_guards(finding: Finding, group: Group, trees: Table[GuardTree]) -> Finding:
    """Return the finding with the guards that say it, where no recompile does."""
    if not group.behind:
        return finding
    name = _name(group.first)
    quotes: list[EvidenceLine] = []
    own = dict.fromkeys(step.place.compilation for _, step in group.steps)
    events = trees.derived(_events)
    for place, seen in (one for key in own for one in events.get(key, ())):
        lines = seen.text.split("\n") if len(quotes) < MAX_QUOTED else []
        at = next((n for n, line in enumerate(lines) if _asks(line, name)), None)
        if at is not None:
            quotes.append(seen.quote(at=at, place=place))
    return finding.model_copy(update={"evidence": tuple(quotes)}) if quotes else finding


def _events(
    trees: Table[GuardTree],
) -> dict[tuple[str, str, str], list[tuple[Place, Seen[GuardTree]]]]:
    found: dict[tuple[str, str, str], list[tuple[Place, Seen[GuardTree]]]] = {}
    for place, seen in trees.events():
        found.setdefault(place.compilation, []).append((place, seen))
    return found


def _name(step: Step) -> str:
    return str(getattr(step.check, "source", ""))


def _asks(text: str, source: str) -> bool:
    head, _, path = source.partition(".")
    return any(f"{scope}['{head}'].{path} == " in text for scope in "LG")


def _is_counter(held: Held, history: History, sized: Sequence[Step]) -> bool:
    """Whether every entry is for another value of a number, which does not come of the sizes.

    It does not where the line counts, or where the values grow evenly and no sizes do.
    """
    if not _ATTRIBUTE.match(held.source) or held.kind == "string":
        return False
    entries = len(held.values) == held.entries == held.of
    if not entries or history.steps[-1].number + 1 != held.of or held.of < CERTAIN:
        return False
    name = re.escape(held.source.rpartition(".")[2])
    if re.match(rf"(?:\w{{1,80}}\.){{1,8}}{name} ?[+-]=", held.code):
        return True
    sizes = [getattr(step.check, "expected", "") for step in sized]
    return _is_even(held.values) and not _is_even(sizes)


def _is_even(values: Sequence[str]) -> bool:
    try:
        numbers = [float(one) for one in values]
    except ValueError:
        return False
    steps = [later - earlier for earlier, later in pairwise(numbers)]
    return bool(steps) and steps[0] != 0 and all(abs(one - steps[0]) < 1e-9 for one in steps)


def _about(held: Held, step: Step, trees: Table[GuardTree]) -> Step:
    """Return the recompile as it would be told if the number were what failed first."""
    entry = step.failure.entry if step.failure else ""
    older = entry_called(entry, step.place, trees)
    guard = next(_guards(held.source, [*older, *entry_of(step.place, trees)]), None)
    value = guard.expression.rpartition(" == ")[2] if guard else held.values[0]
    head, path = held.source.partition(".")[::2]
    scope = "G" if guard and guard.expression.startswith("G") else ""
    whole = held.kind == "integer"
    check = ValueCheck(
        source=Source(scope=scope, name=head, path=f".{path}"),
        integer=int(value) if whole else None,
        number=None if whole else float(value),
    )
    comment = guard.comment if guard else None
    failure = GuardFailure(entry=entry, check=check, comment=comment)
    return msgspec.structs.replace(step, failure=failure)


def _guards(source: str, trees: Sequence[GuardTree]) -> Iterator[Guard]:
    return (guard for tree in trees for guard in tree.guards if _asks(guard.expression, source))
