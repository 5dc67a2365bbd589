"""How often advice helped where it was followed literally, on programs that nobody tuned it to.

What was tried is kept in ``docs/campaigns/libraries.json``, and on GPUs in ``gpu.json`` beside it;
``followed.txt`` has the sums, a line for each piece of advice of a family of rules: what is called
alike says the same there.

From them follows what may be expected of the next program. A few tries say little, so the advice
starts from what all of its family did, as if that were one try more, and the family from what all
advice did, as if that were four. Checked on the rounds 29 to 36, each by the rounds before it: of
what reached three quarters 79 of 99 helped, of the rest 87 of 163.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tracelens.report.model import Advice

__all__ = ["expected", "recorded", "written"]

_FILE = Path(__file__).with_name("followed.txt")
#: The part of programs it has to be expected to help in, to be called a fix.
SURE = 3 / 4
#: What is known of the family counts like so many tries of its advice, and of all like so many.
OF_FAMILY, OF_ALL = 1, 4
#: Advice whose text is another one for each message: what was followed was of other messages.
_OF_MANY = frozenset({"known-message"})
#: Outcomes of a try that count; what does not apply, by its own words, is none.
WORKED = "worked"
FAILED = frozenset({"no effect", "slower", "raised", "wrong results", "cannot be followed"})

Sums = dict[tuple[str, str], tuple[int, int]]


def recorded(code: str, advice: Iterable[Advice]) -> tuple[Advice, ...]:
    """Return the advice of a rule with what came of it elsewhere."""
    return tuple(_with(code[:3], one) for one in advice)


def expected(family: str, name: str, sums: Sums) -> float | None:
    """Return the part of programs in which advice will help; None where nothing of it is known.

    That another piece of its family helped once makes it no worse than one of which nothing is.
    """
    own = [row for (rules, _), row in sums.items() if rules == family]
    few = sum(tried for _, tried in own) < OF_ALL
    if (family, name) not in sums and few and all(worked == tried for worked, tried in own):
        return None
    prior = _mean(own, _mean(list(sums.values()), 0, 0), OF_ALL)
    return _mean([sums.get((family, name), (0, 0))], prior, OF_FAMILY)


def written(*campaigns: Path) -> str:
    """Return what the file is to hold, by what was tried on the CPU and on GPUs."""
    import json  # noqa: PLC0415 -- the file is made with it, nothing else

    sums: Counter[tuple[str, str, bool]] = Counter()
    for campaign in campaigns:
        held = json.loads(campaign.read_text(encoding="utf-8"))
        for program in (*held.get("libraries", ()), *held.get("programs", ())):
            for one in program.get("advice", ()):
                if one["outcome"] == WORKED or one["outcome"] in FAILED:
                    sums[one["code"][:3], one["id"], one["outcome"] == WORKED] += 1
    names = sorted({(family, name) for family, name, _ in sums if name and " " not in name})
    rows = ((f, n, sums[f, n, True], sums[f, n, True] + sums[f, n, False]) for f, n in names)
    return "".join(f"{family} {name} {worked} {tried}\n" for family, name, worked, tried in rows)


def _with(family: str, advice: Advice) -> Advice:
    told = advice.id not in _OF_MANY
    worked, tried = _sums().get((family, advice.id), (0, 0)) if told else (0, 0)
    known = {"worked": worked, "tried": tried, "label": _label(family, advice.id)}
    return advice.model_copy(update=known)


@cache
def _label(family: str, name: str) -> str:
    part = expected(family, name, _sums())
    return "fix" if part is None or part >= SURE else "try"


def _mean(rows: list[tuple[int, int]], prior: float, weight: int) -> float:
    worked, tried = sum(row[0] for row in rows), sum(row[1] for row in rows)
    return (worked + weight * prior) / (tried + weight)


@cache
def _sums() -> Sums:
    rows = (line.split() for line in _FILE.read_text(encoding="utf-8").splitlines())
    return {(family, name): (int(worked), int(tried)) for family, name, worked, tried in rows}
