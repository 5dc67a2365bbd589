"""What to do where the compiler fails on a size that is a symbol."""

from __future__ import annotations

import re

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData

__all__ = ["SYMBOLS", "of_constexpr"]

#: A size as a symbol (s27); those that come from data (u0) stay symbols whatever is said.
_SYMBOL = re.compile(r"\bs\d{1,9}\b")


def of_constexpr(data: FailureData) -> bool:
    """Whether a size that a kernel takes as a constant is a symbol."""
    return "constexpr" in data.facts


SYMBOLS = (
    Remedy(
        "constexpr",
        "A Triton kernel that the program or a library wrote takes that size as `tl.constexpr`,"
        " and the size became dynamic. torch 2.6 and newer make a constant of it: each value"
        " is then compiled by itself.",
        when="a symbol among the constants of a Triton kernel",
        applies=of_constexpr,
        code="python -m pip install -U torch",
        basis="untestable",
        proof="https://github.com/pytorch/pytorch/pull/136512",
    ),
    Remedy(
        "static-sizes",
        lambda data: (
            "Before that, compile without symbols. Each size is then compiled by itself: pad"
            " the inputs to a few."
            if of_constexpr(data)
            else "The message is about a symbolic size: try it without symbols. Each size is"
            " then compiled by itself: pad the inputs to a few."
        ),
        when="the message names a symbolic size",
        applies=lambda data: _SYMBOL.search(data.message) is not None,
        code="torch.compile(model, dynamic=False)",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.compile.html",
    ),
)
