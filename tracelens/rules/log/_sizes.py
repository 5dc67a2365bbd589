"""What single lines about symbolic sizes say: which became constants, and what was guarded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tracelens.dynamo import user_code
from tracelens.logs.dynamic import GuardAdded, Replaced
from tracelens.words import and_more

__all__ = ["About", "about", "noted"]

#: A condition that leaves a symbol one value.
_ONE_VALUE = re.compile(r"(?:Eq\((?:([su]\w+), (\d+)|(\d+), ([su]\w+))\)|([su]\d+) == (\d+))$")
#: What torch 2.4 prints of each index whose range it did not keep.
_NO_RANGE = re.compile(r"\w{1,20} is not in var_ranges, defaulting to unknown range")
#: How symbols begin whose number only data tells.
UNBACKED = "u"
#: Things of a sort that are told one by one.
SHOWN = 3


class About(NamedTuple):
    """What the lines are about: for the title, for the sentences below it, and what helps."""

    title: str
    means: str
    do: str


def about(
    records: Iterable[GuardAdded | Replaced], sources: Mapping[str, str] | None = None
) -> About | None:
    """Return what the ``records`` are about; None where they tell of no guard.

    ``sources`` has what symbols stand for: ``L['x'].size()[0]``.
    """
    constants: dict[str, str] = {}
    conditions: dict[str, str] = {}
    asserted: dict[str, str] = {}
    for one in records:
        if isinstance(one, Replaced):
            if one.target.isdigit() and not one.symbol.startswith(UNBACKED):
                constants.setdefault(one.symbol, one.target)
        elif one.how.startswith("runtime_assert"):
            asserted[one.expression.strip()] = _where(one)
        elif found := _ONE_VALUE.match(one.expression.strip()):
            value, symbol = sorted(filter(None, found.groups()))
            constants[symbol] = f"{value}{_where(one)}"
        else:
            conditions[one.expression.strip()] = _where(one)
    if constants:
        return _constants(constants, sources or {})
    if conditions:
        return _conditions(conditions)
    return _assertions(asserted) if asserted else None


def noted(texts: Iterable[str]) -> About | None:
    """Return what lines are that only note that a range is not known; None with any other."""
    given = list(texts)
    if not given or not all(map(_NO_RANGE.match, given)):
        return None
    return About(
        "a note of torch's that ranges of indices are not known",
        "It is harmless: Inductor takes any value for possible, and goes on.",
        "Ignore it, or update torch: 2.6 and later do not print it (pip install -U torch).",
    )


def _where(one: GuardAdded) -> str:
    place = one.where
    return f" at {user_code.short(place.file, place.line)}" if place and place.file else ""


def _constants(found: Mapping[str, str], sources: Mapping[str, str]) -> About:
    shown = [
        f"`{symbol}`"
        + (f" (`{sources[symbol]}`)" if symbol in sources else "")
        + f" became the constant {value}"
        for symbol, value in found.items()
    ]
    told = f"{'; '.join(shown[:SHOWN])}{and_more(len(shown), SHOWN)}"
    return About(
        told,
        f"{told}: other values are compiled again. A line that needs the number does that: "
        "`int()`, an index, a comparison, or a custom operator that takes `int` instead of "
        "`SymInt`.",
        "Where more values are to come, change that line so that it does not need the number; "
        "record sizes with the recompiles to see how often it happens.",
    )


def _assertions(found: Mapping[str, str]) -> About:
    return About(
        f"checked in every call: {_listed(found)}",
        "The compiled code checks it when it runs, mostly since only data tells the number: a call "
        "in which it does not hold raises, and nothing is compiled for it.",
        "That is harmless where it holds for all inputs. Else change the line that asks for it: a "
        "`torch._check`, or an operator that needs it.",
    )


def _listed(found: Mapping[str, str]) -> str:
    shown = [f"`{condition}`{place}" for condition, place in found.items()]
    return f"{'; '.join(shown[:SHOWN])}{and_more(len(shown), SHOWN)}"


def _conditions(found: Mapping[str, str]) -> About:
    which = "a condition on a size" if len(found) == 1 else "conditions on sizes"
    return About(
        f"{which}: {_listed(found)}",
        "The compiled code holds for sizes of that side; the first one of the other side is "
        "compiled again, and then both have an entry. A branch or a check of that line asks "
        "for it, of the program or of an operator in it.",
        "That is harmless for one condition. Where the sizes of many lie on both sides, pad them "
        "to one, or take the branch out of what is compiled; record sizes with the recompiles.",
    )
