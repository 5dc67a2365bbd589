"""The entries of a compiled function in variants, and which of its guards tells something.

A recompile lists every entry with the first guard of it that failed. Most of these lines say
nothing: entries that are older, or made for another model, would not have fitted anyway. So the
entries are sorted in variants, told apart by what cannot be made dynamic (an object, a type, a
string, the grad mode, a size of 0 or 1). Of each variant only the newest entry counts; and among
those, one that fails on a size or a number says what the new entry was compiled for.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracelens.dynamo.families import Families
from tracelens.logs.recompiles import (
    MAX_DIGITS,
    Check,
    Expression,
    GlobalState,
    GuardFailure,
    LengthCheck,
    RangeCheck,
    Relation,
    TensorMismatch,
    TypeCheck,
    ValueCheck,
)

__all__ = [
    "Variants",
    "is_condition",
    "is_integer",
    "is_parameter",
    "is_size",
    "is_special",
    "subject_of",
]

#: Sizes and numbers for which Dynamo compiles an entry of its own, by design.
SPECIAL = frozenset({"0", "1"})


class Variants:
    """Finds out, recompile after recompile, which entries belong together."""

    def __init__(self) -> None:
        #: Entry -> its variant; variants are numbered by their first entry.
        self._of = {0: 0}
        #: Entry -> the sizes that it was compiled for, as far as they failed before.
        self._sizes: dict[int, dict[tuple[str, int | None], str]] = {}
        #: Entries with a length that another entry has been compiled instead of.
        self._outgrown: set[int] = set()
        #: Entry -> what failed in the entries before it, for which it was compiled.
        self._failed: dict[int, dict[int, tuple[object, ...]]] = {}
        self._families = Families()

    def admit(self, number: int) -> bool:
        """Return whether entry ``number`` can be the next one: not after a reset of Dynamo."""
        return not 0 < number <= max(self._of)

    def unrecorded(self, failures: Sequence[GuardFailure]) -> list[GuardFailure]:
        """Return those of ``failures`` whose entries were compiled before the log begins."""
        return [failure for failure in failures if failure.number not in self._of]

    def add(
        self, number: int, failures: Sequence[GuardFailure]
    ) -> tuple[int, int, GuardFailure | None]:
        """Add the entry that was compiled because of ``failures``.

        Args:
            number: The entry's number; 0 where the log does not number them.
            failures: What did not fit in the entries before.

        Returns:
            The entry's number, its variant, and the failure that says what it was compiled for.
        """
        last = max(self._of)
        number = number or last + 1
        failure = self._telling(failures)
        for one in failures:
            if isinstance(one.check, TensorMismatch) and is_size(one.check):
                sizes = self._sizes.setdefault(one.number, {})
                sizes[subject_of(one.check)] = one.check.expected
        if failure is not None and isinstance(failure.check, LengthCheck):
            self._outgrown.add(failure.number)
        variant = number
        if failure is not None and _goes_on(failure.check):
            variant = self._of.get(failure.number, self._of[last])
        self._of[number] = variant
        self._failed[number] = {one.number: _asked(one) for one in failures}
        self._families.learn(number, failures)
        return number, variant, failure

    def _telling(self, failures: Sequence[GuardFailure]) -> GuardFailure | None:
        newest: dict[int, GuardFailure] = {}
        for failure in failures:
            # What is not known of an entry may tell it apart: it is a variant of its own.
            variant = self._of.get(failure.number, -failure.number)
            if variant not in newest or newest[variant].number < failure.number:
                newest[variant] = failure
        for variant, failure in newest.items():
            told = self._fitting(failures, failure, variant) or _sized_one(failures, failure)
            newest[variant] = told or failure
        telling = list(newest.values())
        telling = [one for one in telling if not _is_passed(one, telling)] or telling
        telling = self._families.of_call(telling, failures) or telling
        telling = self._new_lengths(telling) or telling
        told = max(telling, key=_rank, default=None)
        told = self._nearest(failures, told) or told
        return _out_of_range(failures, told) or told

    def _nearest(
        self, failures: Sequence[GuardFailure], told: GuardFailure | None
    ) -> GuardFailure | None:
        """Return what failed in an entry that was made for a call like this one.

        An entry for a size of 1 fits no other size. Where the newest entry was made because all
        older ones failed in the same way, the call differs from that one in what it fails on.
        """
        check = told.check if told else None
        if not (isinstance(check, TensorMismatch) and check.expected in SPECIAL):
            return None
        newest = max(failures, key=lambda one: one.number)
        before = self._failed.get(newest.number, {})
        now = {one.number: _asked(one) for one in failures if one.number < newest.number}
        return newest if before and before == now else None

    def _new_lengths(self, telling: Sequence[GuardFailure]) -> list[GuardFailure]:
        """Return the lengths that are news, where all other entries were made for what else it is.

        A prompt after tokens with a state: the entry of the tokens fails on the type of the state,
        that of the prompt before on how many tokens there are.
        """
        lengths = [
            one
            for one in telling
            if isinstance(one.check, LengthCheck) and one.number not in self._outgrown
        ]
        others = (one for one in telling if not isinstance(one.check, LengthCheck))
        return lengths if all(_is_selecting(one.check) for one in others) else []

    def _fitting(
        self, failures: Sequence[GuardFailure], newest: GuardFailure, variant: int
    ) -> GuardFailure | None:
        """Return what failed in an older entry whose size has come back: the size is no news."""
        check = newest.check
        if not (isinstance(check, TensorMismatch) and is_size(check)):
            return None
        subject = subject_of(check)
        fitting = [
            one
            for one in failures
            if one.number < newest.number
            and self._of.get(one.number) == variant
            and isinstance(one.check, ValueCheck)
            and self._sizes.get(one.number, {}).get(subject) == check.actual
        ]
        return max(fitting, key=lambda one: one.number, default=None)


def _asked(failure: GuardFailure) -> tuple[object, ...]:
    """Return what an entry asked for, whatever came instead."""
    check = failure.check
    if isinstance(check, TensorMismatch):
        return check.what, str(check.source), check.index, check.expected
    return (str(check),)


def _out_of_range(
    failures: Sequence[GuardFailure], told: GuardFailure | None
) -> GuardFailure | None:
    """Return the range of a symbol that a size is outside of, where an entry for 0 or 1 is newer.

    That entry fits no other size. But for the range, the one with the symbol would have fitted.
    """
    check = told.check if told else None
    if not (isinstance(check, TensorMismatch) and is_size(check) and check.expected in SPECIAL):
        return None
    if check.actual in SPECIAL or not check.actual.isdecimal() or len(check.actual) >= MAX_DIGITS:
        return None
    size, dimension = int(check.actual), (str(check.source), check.index)
    ranges = [
        one
        for one in failures
        if isinstance(one.check, RangeCheck)
        and one.check.dimension == dimension
        and (size < one.check.low or (one.check.high is not None and one.check.high < size))
    ]
    return max(ranges, key=lambda one: one.number, default=None)


def _sized_one(failures: Sequence[GuardFailure], newest: GuardFailure) -> GuardFailure | None:
    """Return the failure that says that a size is 0 or 1 where the stride did not fit.

    Such a dimension has any stride: it is the size that asks for another entry.
    """
    check = newest.check
    if not (isinstance(check, TensorMismatch) and check.what == "stride"):
        return None
    told = (
        one
        for one in failures
        if isinstance(one.check, TensorMismatch)
        and is_size(one.check)
        and one.check.actual in SPECIAL
        and subject_of(one.check) == subject_of(check)
    )
    return max(told, key=lambda one: one.number, default=None)


def is_parameter(check: Check | None) -> bool:
    """Whether ``check`` is about a parameter: torch remarks that its sizes are held static."""
    return isinstance(check, TensorMismatch) and "parameter" in check.note


def is_size(check: Check | None) -> bool:
    """Whether ``check`` is about the size of a tensor, which can be made dynamic."""
    is_mismatch = isinstance(check, TensorMismatch) and check.what == "size"
    return is_mismatch and not is_parameter(check)


def is_condition(check: Check | None) -> bool:
    """Whether ``check`` is a condition on symbolic sizes or numbers, or several that are joined."""
    if isinstance(check, Expression):
        return bool(check.relations)
    return isinstance(check, RangeCheck | Relation)


def is_integer(check: Check | None) -> bool:
    """Whether ``check`` is about a Python integer, which can be made dynamic."""
    return isinstance(check, ValueCheck) and check.integer is not None and check.operator == "=="


def is_special(check: Check | None) -> bool:
    """Whether ``check`` fails on a 0 or a 1, which get an entry of their own by design."""
    if isinstance(check, TensorMismatch):
        return is_size(check) and not SPECIAL.isdisjoint((check.expected, check.actual))
    if isinstance(check, ValueCheck):
        return check.integer in {0, 1}
    return isinstance(check, RangeCheck) and check.is_zero_one


def subject_of(check: Check | None) -> tuple[str, int | None]:
    """Return the value that ``check`` is about, and the dimension."""
    if isinstance(check, TensorMismatch):
        return str(check.source), check.index
    if isinstance(check, RangeCheck) and check.dimension:
        return check.dimension
    return (str(check.source), None) if isinstance(check, ValueCheck) else ("", None)


def _can_be_dynamic(check: Check | None) -> bool:
    return is_size(check) or is_integer(check) or is_condition(check)


def _rank(failure: GuardFailure) -> tuple[bool, bool, bool, bool, int]:
    """Return how much a failure tells; what the call brought, before what the entry was made for.

    An entry made for a size of 1 does not fit any other size: that is no news about the call. The
    global state is checked first: an entry that fails on something else was made in the same mode.
    """
    check = failure.check
    dynamic = _can_be_dynamic(check)
    made_special = isinstance(check, TensorMismatch) and check.expected in SPECIAL
    return (
        not isinstance(check, GlobalState),
        dynamic and not is_special(check),
        dynamic and not made_special,
        dynamic,
        failure.number,
    )


def _is_passed(failure: GuardFailure, others: Sequence[GuardFailure]) -> bool:
    """Whether another entry failed on a tensor within the value that ``failure`` is about.

    What a value is comes before what is in it: that entry was made for one like this call's, as in
    a cache that is None in a prompt only. What the tensor is then keeps the call out of it.
    """
    check = failure.check
    if not (isinstance(check, TypeCheck | ValueCheck) and _is_selecting(check)):
        return False
    within = (f"{check.source}.", f"{check.source}[")
    return any(
        isinstance(one.check, TensorMismatch) and str(one.check.source).startswith(within)
        for one in others
    )


def _is_selecting(check: Check | None) -> bool:
    """Whether it says what a value is, such as its class, or that it is None."""
    return isinstance(check, TypeCheck) or (isinstance(check, ValueCheck) and bool(check.constant))


def _goes_on(check: Check | None) -> bool:
    """Whether the entry that ``check`` asked for takes the place of the one that failed."""
    return _can_be_dynamic(check) and (is_integer(check) or not is_special(check))
