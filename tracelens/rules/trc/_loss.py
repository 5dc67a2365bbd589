"""The loss over many classes, as eager kernels compute it: what TRC010 says of it, and advises."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from tracelens.evidence import Seen, Table
from tracelens.remedies import Remedy
from tracelens.traces.rows import KernelTime
from tracelens.traces.sequences import KernelSequence

__all__ = ["APART", "REMEDIES", "WHOLE", "Loss", "loss_of"]

#: Softmax and logarithm are two kernels, or one.
APART, WHOLE = "apart", "whole"
#: What ATen computes softmax with over more than 1,024 classes, forward and backward.
_FORWARD, _BACKWARD = "cunn_SoftMaxForward", "cunn_SoftMaxBackward"
_LOG = "elementwise log"
#: How the templates of these kernels say that they compute the logarithm as well.
_WITH_LOG = "LogSoftMax"


class Loss(NamedTuple):
    """Kernels of one trace that compute softmax and logarithm over many classes."""

    how: str
    rows: tuple[Seen[KernelTime], ...]
    #: Milliseconds in all, and what one pass less each way saves.
    ms: float
    saved_ms: float
    #: Whether it is trained: gradients go back through it.
    backward: bool = True


REMEDIES = (
    Remedy(
        id="cross-entropy",
        text="Give the loss the logits: it computes softmax and logarithm as one, and is exact "
        "where a probability is too small for a number. Without a loss: `log_softmax`.",
        code="loss = torch.nn.functional.cross_entropy(logits, target)",
        when="softmax and logarithm are two kernels",
        applies=lambda data: data.loss == APART,
        proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.cross_entropy.html",
    ),
    Remedy(
        id="compile-loss",
        text="Compile what computes it, with the projection to the classes and the conversion to "
        "float32 before it: the logits are then read and written less often.",
        code="loss_of = torch.compile(loss_of)",
        when="softmax and logarithm are one kernel",
        applies=lambda data: data.loss == WHOLE,
        since="2.0",
        proof="https://docs.pytorch.org/docs/stable/torch.compiler.html",
    ),
)


def loss_of(kernels: Table[KernelTime], rows: list[Seen[KernelSequence]], source: str) -> Loss:
    """Return what one trace spends on softmax and logarithm over many classes."""
    times = list(kernels.within(source))
    with_log = tuple(row for row in times if _WITH_LOG in row.record.full_name)
    ms = sum(row.record.sum_ms for row in with_log)
    whole = Loss(WHOLE, with_log, ms, ms / 2)
    runs = sum(row.record.n for row in rows if _in_turn(row.record.kernels))
    if not runs:
        return whole
    named = {row.record.name: row for row in times if _WITH_LOG not in row.record.full_name}
    found = [named[name] for name in named if name.endswith((_FORWARD, _BACKWARD))]
    found += [named[_LOG]] if _LOG in named else []
    parts = [(row, row.record.sum_ms * min(1.0, runs / row.record.n)) for row in found]
    ms = sum(part for _, part in parts)
    log = sum(part for row, part in parts if row.record.name == _LOG)
    backward = any(row.record.name.endswith(_BACKWARD) for row in found)
    saved = 2 * log if backward else log
    apart = Loss(APART, tuple(found), ms, saved, backward)
    return max(whole, apart, key=lambda loss: loss.ms)


def _in_turn(names: tuple[str, ...]) -> bool:
    """Tell whether a logarithm follows a softmax."""
    return any(one.endswith(_FORWARD) and other == _LOG for one, other in pairwise(names))
