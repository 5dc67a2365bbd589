"""How often advice helped where it was followed literally, on programs that nobody tuned it to.

What was tried is kept in ``docs/campaigns/libraries.json``; ``followed.txt`` has the sums, a line
for each piece of advice of a family of rules: what is called alike says the same there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tracelens.report.model import Advice

__all__ = ["is_doubtful", "recorded", "written"]

_FILE = Path(__file__).with_name("followed.txt")
#: Rounds of the campaign from which on advice was much as it is.
SINCE = 31
#: Tries from which on they say something, and the part that helps of what is sure enough.
ENOUGH = 3
SURE = 2 / 3
#: Outcomes of a try that count; what does not apply, by its own words, is none.
WORKED = "worked"
FAILED = frozenset({"no effect", "slower", "raised", "wrong results", "cannot be followed"})


def recorded(code: str, advice: Iterable[Advice]) -> tuple[Advice, ...]:
    """Return the advice of a rule with what came of it elsewhere."""
    return tuple(_with(code, one) for one in advice)


def is_doubtful(advice: Advice) -> bool:
    """Whether it helped in less than two thirds of the programs in which it was followed."""
    return advice.tried >= ENOUGH and advice.worked < SURE * advice.tried


def written(campaign: Path) -> str:
    """Return what the file is to hold."""
    import json  # noqa: PLC0415 -- the file is made with it, nothing else

    sums: Counter[tuple[str, str, bool]] = Counter()
    for library in json.loads(campaign.read_text(encoding="utf-8"))["libraries"]:
        if (library.get("round") or 0) < SINCE:
            continue
        for one in library.get("advice", ()):
            if one["outcome"] == WORKED or one["outcome"] in FAILED:
                sums[one["code"][:3], one["id"], one["outcome"] == WORKED] += 1
    names = sorted({(family, name) for family, name, _ in sums if name and " " not in name})
    rows = ((f, n, sums[f, n, True], sums[f, n, True] + sums[f, n, False]) for f, n in names)
    return "".join(f"{family} {name} {worked} {tried}\n" for family, name, worked, tried in rows)


def _with(code: str, advice: Advice) -> Advice:
    found = _sums().get((code[:3], advice.id))
    if found is None:
        return advice
    return advice.model_copy(update={"worked": found[0], "tried": found[1]})


@cache
def _sums() -> dict[tuple[str, str], tuple[int, int]]:
    rows = (line.split() for line in _FILE.read_text(encoding="utf-8").splitlines())
    return {(family, name): (int(worked), int(tried)) for family, name, worked, tried in rows}
