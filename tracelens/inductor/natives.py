"""Convolutions over three dimensions that ATen computes by itself, although oneDNN could."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tracelens.evidence import Table
from tracelens.inductor.weights import Unprepared

if TYPE_CHECKING:
    from tracelens.logs.onednn_verbose import PrimitiveExec

__all__ = ["leaves_some", "natives"]

#: Dimensions of the weight of a convolution over three.
VOLUME = 5
#: Part of a graph's convolutions from which it is worth a word.
MIN_PART = 0.25


def natives(found: Iterable[Unprepared], execs: Table[PrimitiveExec]) -> list[Unprepared]:
    """Return those of one graph of which oneDNN printed no line, though of other convolutions.

    ATen hands what is small to oneDNN in batches alone, and counts no width of a volume
    (``use_mkldnn`` in aten/src/ATen/native/Convolution.cpp). What is frozen is always oneDNN's.
    Small ones over two dimensions are left to it as well, and lose little by it.
    """
    convolutions = [one for one in found if one.call.op == "convolution"]
    if not (convolutions and len(execs)):
        return []
    told = _told(convolutions, execs)
    if not any(is_told for _, is_told in told):
        return []
    own = [one for one, is_told in told if not is_told and len(one.weight.size or ()) == VOLUME]
    return own if len(own) >= MIN_PART * len(convolutions) else []


def leaves_some(found: Iterable[Unprepared], execs: Table[PrimitiveExec]) -> bool:
    """Whether oneDNN printed no line of one of the convolutions, whose sizes are all known."""
    convolutions = [one for one in found if one.call.op == "convolution"]
    return not all(is_told for _, is_told in _told(convolutions, execs))


def _told(
    convolutions: list[Unprepared], execs: Table[PrimitiveExec]
) -> list[tuple[Unprepared, bool]]:
    """Return the convolutions of one graph whose sizes are known, and whether oneDNN ran them."""
    if not convolutions:
        return []
    from tracelens.inductor.tasks import tasks  # noqa: PLC0415 -- of few logs
    from tracelens.logs._problems import task_of  # noqa: PLC0415 -- of few logs

    executed = {task_of(row.record) for row in execs}
    made = {call.step.at: call.task for call in tasks(convolutions[0].seen.record)}
    known = [(one, made[one.step.at]) for one in convolutions if one.step.at in made]
    return [(one, task in executed) for one, task in known]
