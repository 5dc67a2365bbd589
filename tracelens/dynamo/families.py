"""Entries in families: told apart by what has two values, such as None or a flag.

A recompile lists what failed in every entry. An argument that is None in every second call fails
in half of the entries, whatever the new one is for: what the call's own family failed on tells it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch

from tracelens.logs.recompiles import (
    Check,
    GuardFailure,
    IdentityCheck,
    TensorMismatch,
    TypeCheck,
    ValueCheck,
)

__all__ = ["Families"]

_NONE, _SOME = "None", "not None"
_NONE_TYPE = "<class 'NoneType'>"
#: What comes instead where two values are all there are.
_OTHER = {_NONE: _SOME, _SOME: _NONE, "True": "False", "False": "True", "1": "0", "0": "1"}
#: Properties of a tensor that have two values in a program, or a few: no size, and no stride.
_FEW = frozenset({"requires_grad", "dtype", "dispatch key set", "rank"})

#: What an entry is for: of what, what it asks for, and what a call had that it does not fit.
Side = tuple[str, str, str]


class Families:
    """Learns from each recompile which side of what has two values an entry is for."""

    def __init__(self) -> None:
        self._sides: dict[int, dict[str, str]] = {}

    def learn(self, number: int, failures: Sequence[GuardFailure]) -> None:
        """Take note of what failed in the entries before entry ``number``."""
        own = self._sides.setdefault(number, {})
        for failure in failures:
            if side := _side(failure.check):
                of, asked, came = side
                self._sides.setdefault(failure.number, {})[of] = asked
                if came:
                    own[of] = came

    def of_call(
        self, telling: Iterable[GuardFailure], failures: Sequence[GuardFailure]
    ) -> list[GuardFailure]:
        """Return ``telling`` without what only keeps the call out of another family.

        That is so where an entry of the call's own family failed, on what may have any number of
        values: it is nearer. Without one, nothing is left out.
        """
        others = [one for one in failures if _is_value(one.check)]
        return [one for one in telling if not self._is_of_another(one, others)]

    def _is_of_another(self, failure: GuardFailure, others: Iterable[GuardFailure]) -> bool:
        side = _side(failure.check)
        if side is None:
            return False
        of, asked, came = side
        known = [self._sides.get(one.number, {}).get(of, "") for one in others]
        return any(one == came if came else one not in {"", asked} for one in known)


def _is_value(check: Check | None) -> bool:
    """Whether it is about a number or a string, of which there may be any."""
    return isinstance(check, ValueCheck) and check.constant is None and check.operator == "=="


@singledispatch
def _side(check: object) -> Side | None:
    del check
    return None


@_side.register
def _(check: ValueCheck) -> Side | None:
    if check.constant is None or check.operator not in {"==", "is"}:
        return None
    return str(check.source), check.constant, _OTHER[check.constant]


@_side.register
def _(check: IdentityCheck) -> Side | None:  # None, up to torch 2.4
    return (str(check.source), _NONE, _SOME) if check.held == _NONE_TYPE else None


@_side.register
def _(check: TypeCheck) -> Side | None:
    if check.held == _NONE_TYPE:
        return str(check.source), _NONE, _SOME
    return (str(check.source), _SOME, _NONE) if check.found == _NONE_TYPE else None


@_side.register
def _(check: TensorMismatch) -> Side | None:
    if check.what not in _FEW:
        return None
    came = check.actual or _OTHER.get(check.expected, "")
    return f"{check.what} of {check.source}", check.expected, came
