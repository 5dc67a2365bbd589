"""Sizes that were equal in the first call, which torch takes for one (duck sizing)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from tracelens.dynamo.recompile_history import History, Step
from tracelens.evidence import Place
from tracelens.logs.recompiles import Relation
from tracelens.remedies import Remedy
from tracelens.rules.rcp._data import RecompileData
from tracelens.words import plural

__all__ = ["UNEQUAL_FIRST", "duck_sized", "is_duck_sized", "told_of"]

UNEQUAL_FIRST = Remedy(
    "unequal-first",
    "Two sizes were equal in the first call, and torch took them for one. Let it not do that, or "
    "call it first with sizes that differ.",
    when="torch says that duck sizing added the condition, and it is not about strides",
    applies=lambda data: (
        data.is_duck and not any(".stride()[" in one.name + one.expected for one in data.guards)
    ),
    setting="torch.fx.experimental._config.use_duck_shape = False",
    since="2.4",
    basis="tested",
    proof="tests/advice/RCP023/unequal-first.py",
)


#: A size of a tensor, and nothing else.
_SIZE = re.compile(r"[^()]{1,300}\.size\(\)\[\d{1,3}\]\Z")


def is_duck_sized(steps: Sequence[Step]) -> bool:
    """Whether torch added the condition of all of them itself, as it says of one at least."""
    return any(map(_is_said, steps)) and all(_is_said(one) or _is_unsaid(one) for one in steps)


def duck_sized(steps: Iterable[Step]) -> set[Place]:
    """Return where recompiles are for conditions that torch added itself.

    It says so; or, among such recompiles, that two sizes are to be equal, and not why: it does not
    know what names the size of a tensor that waited for the graph to go on.
    """
    found: defaultdict[tuple[str, str], list[Step]] = defaultdict(list)
    for step in steps:
        if _is_said(step) or _is_unsaid(step):
            found[step.place.process].append(step)
    places: set[Place] = set()
    for own in found.values():
        own.sort(key=lambda step: step.place.line)
        said = [at for at, step in enumerate(own) if _is_said(step)]
        if said:
            places |= {step.place for step in own[said[0] : said[-1] + 1]}
    return places


def _is_said(step: Step) -> bool:
    said = step.failure.comment if step.failure else None
    return said is not None and "duck sizing" in said.note


def _is_unsaid(step: Step) -> bool:
    said = step.failure.comment if step.failure else None
    check = step.check
    return (
        said is not None
        and "unknown var" in said.note
        and isinstance(check, Relation)
        and check.comparison.strip() == "=="
        and all(_SIZE.match(side) for side in (check.left, check.right))
    )


def told_of(history: History, data: RecompileData) -> tuple[str, str]:
    """Return title and message about functions that are compiled again for such conditions."""
    several = len(data.functions) - 1
    who = f"`{history.function}` " + (f"and {plural(several, 'other')} are" if several else "is")
    title = f"{who} compiled once more: sizes that were equal in the first call differ"
    entries = "The entry is" if data.recompiles == 1 else f"{data.recompiles} entries are"
    condition = f"{data.guards[0].name} == {data.guards[0].expected}"
    more = " and the like" if data.recompiles > 1 else ""
    return title, (
        f"{entries} valid only while `{condition}`{more}: torch took sizes that were equal for one "
        "when it compiled. The next entry has a symbol for each."
    )
