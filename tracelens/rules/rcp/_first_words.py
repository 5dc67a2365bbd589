"""Advice in names that torch 2.0 has, where the limit is told in its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracelens.report import Advice

if TYPE_CHECKING:
    from tracelens.evidence import Place, Seen
    from tracelens.logs.recompile_limits import RecompileLimit

__all__ = ["for_first", "is_first"]

#: What leaves a function out, by its name since torch 2.1, and by the one that 2.0 has as well.
_LEFT, _LEFT_FIRST = "@torch.compiler.disable", "@torch._dynamo.disable"
#: How torch 2.0 and 2.1 tell the reasons, where later ones tell the last.
_OF_FIRST = ("   reasons:", "reasons: [")


def is_first(hits: Sequence[tuple[Place, Seen[RecompileLimit]]]) -> bool:
    """Tell whether the warning is in the words of torch 2.0 and 2.1."""
    return any(mark in seen.text for _, seen in hits for mark in _OF_FIRST)


def for_first(given: Sequence[Advice]) -> list[Advice]:
    """Return advice in names that torch 2.0 has, too."""
    return [
        one.model_copy(update={"code": one.code.replace(_LEFT, _LEFT_FIRST), "since": "2.0"})
        if one.code and _LEFT in one.code
        else one
        for one in given
    ]
