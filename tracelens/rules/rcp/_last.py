"""A batch with fewer rows than those before, as the last one of a data set."""

from __future__ import annotations

from tracelens.dynamo.recompile_history import Step
from tracelens.dynamo.recompile_variants import is_size
from tracelens.logs.recompiles import MAX_DIGITS, Check, RangeCheck, TensorMismatch

__all__ = ["is_smaller"]


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
