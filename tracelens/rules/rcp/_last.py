"""A batch with fewer rows than those before, as the last one of a data set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tracelens.dynamo.entry_guards import entry_of
from tracelens.dynamo.recompile_history import Step
from tracelens.dynamo.recompile_variants import is_size, subject_of
from tracelens.dynamo.run_facts import facts_of
from tracelens.evidence import Table
from tracelens.logs.recompiles import MAX_DIGITS, Check, RangeCheck, TensorMismatch

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.guards import GuardTree

__all__ = ["FEW_SIZES", "all_smaller", "is_smaller", "is_trained", "left_out", "one_size"]

#: What to do with a smaller batch, by whether the calls are of training. Results of inference are
#: wanted of every row, and what is smaller there need not be the last of a data set.
_LEFT_OUT = {
    True: "If that was the last batch of a data set, leave it out (`drop_last=True` of the "
    "DataLoader).",
    False: "Pad the smaller batch to the usual size, and cut what was added off the results; where "
    "they are sums over its rows, give what was added a weight of 0.",
    None: "If that was the last batch of a data set: in training leave it out (`drop_last=True` of "
    "the DataLoader); in inference pad it to the usual size, and cut what was added off the "
    "results (where they are sums over its rows, give it a weight of 0).",
}
_ONE_SIZE = {
    True: "Keep one batch size: leave a smaller last batch out (`drop_last=True` of the "
    "DataLoader).",
    False: "Keep one batch size: pad every smaller batch to the largest, and cut what was added "
    "off the results; where they are sums over its rows, give what was added a weight of 0.",
    None: "Keep one batch size. In inference pad every smaller batch to the largest, and cut what "
    "was added off the results (where they are sums over its rows, give it a weight of 0); in "
    "training leave a smaller last batch out (`drop_last=True` of "
    "the DataLoader).",
}
#: Where that would be much more than there is to compute.
FEW_SIZES = " Where many are much smaller, pad them to one of a few sizes."


def left_out(is_trained: bool | None) -> str:
    """Say what to do with a smaller batch."""
    return _LEFT_OUT[is_trained]


def one_size(is_trained: bool | None) -> str:
    """Say what to do where the size of the batch changes."""
    return _ONE_SIZE[is_trained]


def is_trained(
    steps: Iterable[Step], trees: Table[GuardTree], facts: Table[RunFacts]
) -> bool | None:
    """Tell whether the calls that were compiled for are of training; None if the log does not.

    An entry is for gradients on or off; with them on a run may train, or leave them on for nothing.
    """
    trains = facts_of(facts).is_training
    modes = {
        guard.state.get("grad_mode")
        for step in steps
        for tree in entry_of(step.place, trees)
        for guard in tree.guards
        if guard.is_global
    }
    if trains is False or modes == {False}:
        return False
    return True if trains and modes == {True} else None


def is_smaller(step: Step) -> bool:
    """Whether the call had fewer rows: below a bound, or than an older entry was compiled for."""
    return any(
        check.dimension is not None and check.dimension[1] == 0 and check.high is None
        if isinstance(check := failure.check, RangeCheck)
        else is_size(check) and _shrank(check)
        for failure in step.seen.record.failures
    )


def all_smaller(steps: Sequence[Step]) -> bool:
    """Whether a change is of calls with fewer rows.

    Behind a graph break, where values wait on Python's stack, rows may be another dimension.
    """
    own = [step for step in steps if not subject_of(step.check)[0].startswith("___")]
    return all(map(is_smaller, own or steps))


def _shrank(check: Check | None) -> bool:
    if not isinstance(check, TensorMismatch) or check.index != 0:
        return False
    sizes = check.actual, check.expected
    known = all(one.isdecimal() and len(one) < MAX_DIGITS for one in sizes)
    return known and 1 < int(check.actual) < int(check.expected)
