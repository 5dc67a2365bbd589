"""A batch with fewer rows than those before, as the last one of a data set."""

from __future__ import annotations

from tracelens.dynamo.recompile_history import Step
from tracelens.dynamo.recompile_variants import is_size
from tracelens.logs.recompiles import MAX_DIGITS, Check, RangeCheck, TensorMismatch

__all__ = ["FEW_SIZES", "LEFT_OUT", "ONE_SIZE", "is_smaller"]

#: Results of inference are wanted of every row.
LEFT_OUT = (
    "If that was the last batch of a data set: in training leave it out (`drop_last=True` of the "
    "DataLoader); in inference pad it to the usual size, and cut what was added off the results."
)
ONE_SIZE = (
    "Keep one batch size. In inference pad every smaller batch to the largest, and cut what was "
    "added off the results; in training leave a smaller last batch out (`drop_last=True` of the "
    "DataLoader)."
)
#: Where that would be much more than there is to compute.
FEW_SIZES = " Where many are much smaller, pad them to one of a few sizes."


def is_smaller(step: Step) -> bool:
    """Whether the call had fewer rows: below a bound, or than an older entry was compiled for."""
    return any(
        check.dimension is not None and check.dimension[1] == 0 and check.high is None
        if isinstance(check := failure.check, RangeCheck)
        else is_size(check) and _shrank(check)
        for failure in step.seen.record.failures
    )


def _shrank(check: Check | None) -> bool:
    if not isinstance(check, TensorMismatch) or check.index != 0:
        return False
    sizes = check.actual, check.expected
    known = all(one.isdecimal() and len(one) < MAX_DIGITS for one in sizes)
    return known and 1 < int(check.actual) < int(check.expected)
