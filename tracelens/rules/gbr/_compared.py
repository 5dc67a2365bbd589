"""Compare with what is not compiled, where a library's breaks cut a model often."""

from __future__ import annotations

from collections.abc import Callable

from tracelens.remedies import Remedy
from tracelens.rules.gbr._break_data import BreakData

__all__ = ["compare_eager"]

#: Records of one line from which on a model is cut often.
MANY_BREAKS = 5


def compare_eager(unnamed: Callable[[BreakData], str]) -> Remedy:
    """Return the advice for breaks of which ``unnamed`` says why no change is named."""

    def text(data: BreakData) -> str:
        return (
            "Run it once uncompiled, and compare: a call enters each graph between the breaks by "
            "itself, which small ones do not repay. "
        ) + unnamed(data).replace("No change", "No other change")

    return Remedy(
        "compare-eager",
        text,
        when="the same as of the two that name no change, and the line broke the graph five times "
        "or more",
        env="TORCHDYNAMO_DISABLE=1",
        applies=lambda data: (
            isinstance(data, BreakData) and data.records >= MANY_BREAKS and bool(unnamed(data))
        ),
        basis="tested",
        proof="tests/advice/GBR002/compare-eager.py",
    )
