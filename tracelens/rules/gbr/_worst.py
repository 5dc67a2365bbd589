"""Remedies of findings about several breaks: those of the worst of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tracelens.remedies import Remedy
from tracelens.report import FindingData
from tracelens.rules.gbr._break_data import BreakData

__all__ = ["WorstData", "of_worst"]


class WorstData(FindingData):
    """Several breaks: what is known of the worst of them."""

    worst: BreakData | None = None


def of_worst(remedies: tuple[Remedy, ...]) -> tuple[Remedy, ...]:
    """Return remedies of one break for what has :class:`WorstData`."""
    return tuple(
        replace(
            remedy,
            text=_of(remedy.text),
            applies=_applies(remedy),
            setting=_of(remedy.setting),
            env=_of(remedy.env),
            code=_of(remedy.code),
            knob=_of(remedy.knob),
        )
        for remedy in remedies
    )


def _applies(remedy: Remedy) -> Callable[[Any], bool]:
    return lambda data: data.worst is not None and remedy.applies(data.worst)


def _of(told: Any) -> Any:
    return (lambda data: told(data.worst)) if callable(told) else told
