"""What TRC010 knows of elementwise operators that follow each other, and what it advises."""

from __future__ import annotations

from collections.abc import Iterable

from tracelens.evidence import Seen
from tracelens.logs.chrome_trace import BackwardNode
from tracelens.remedies import Remedy
from tracelens.report import FindingData
from tracelens.rules.trc._loss import REMEDIES as OF_LOSS
from tracelens.rules.trc._loss import WHOLE

__all__ = ["REMEDIES", "Chains", "has_penalty"]

#: Squares that are added up, of each parameter: how many in all, and for each gradient, at least.
MIN_SQUARES = 16
MIN_PART = 0.3


class Chains(FindingData):
    """Elementwise kernels one after the other."""

    kernels: int
    sequences: int
    ms: float
    #: What fusing saves at most; a product or convolution before them keeps its time.
    rest_ms: float
    of_ms: float
    #: On the CPU, and nothing is trained: weights can be frozen.
    frozen: bool = False
    #: On the CPU: whether most of it squares differences and adds them up.
    distances: bool = False
    #: On the CPU: whether much of the trace is drawing random numbers, or dropout.
    draws: bool = False
    drops: bool = False
    #: Whether about as many squares are added up, and trained, as there are parameters.
    penalty: bool = False
    #: Softmax and logarithm over many classes: two kernels, or one.
    loss: str = ""
    #: What nearly all of it is part of: ``scores`` of attention, ``updates`` of an optimizer.
    part_of: str = ""


REMEDIES = (
    *OF_LOSS,
    Remedy(
        id="penalty",
        text="If squares of all parameters are added to the loss: the optimizer has such an L2 "
        "penalty, without these operators and their gradients. Of SGD and Adam `weight_decay` is "
        "twice the factor; that of AdamW is another one.",
        when="about as many squares are added up in training as there are parameters",
        applies=lambda data: data.penalty,
        code="torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=2e-4)  # for 1e-4",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html",
    ),
    Remedy(
        id="distances",
        text="If these are distances of all pairs of rows: a product gives them, nothing is "
        "written for each pair and column.",
        when="differences are squared and added up, on the CPU",
        applies=lambda data: data.distances,
        code="distances = torch.cdist(x, y)",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.cdist.html",
    ),
    Remedy(
        id="freeze",
        text="For inference, compile with frozen weights: batch normalization is folded into "
        "the convolutions before it.",
        when="convolutions on the CPU, without training",
        applies=lambda data: data.frozen,
        code="torch._inductor.config.freezing = True; model = torch.compile(model)",
        since="2.1",
        basis="tested",
        proof="tests/advice/TRC010/freeze.py",
    ),
    Remedy(
        id="compile",
        text="Compile the function that holds them.",
        when="they are not the loss alone",
        applies=lambda data: data.loss != WHOLE and not (data.draws or data.drops),
        code="fn = torch.compile(fn)",
        since="2.0",
        proof="https://docs.pytorch.org/docs/stable/torch.compiler.html",
    ),
    Remedy(
        id="compile-drawing",
        text="Compile the function that holds them, with eager mode's random numbers: on the "
        "CPU Inductor's own take several times as long.",
        when="random numbers are drawn among them, on the CPU",
        applies=lambda data: data.draws and not data.drops,
        code="torch._inductor.config.fallback_random = True; fn = torch.compile(fn)",
        since="2.0",
        proof="https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_inductor/config.py",
    ),
    Remedy(
        id="compile-without",
        text="Compile what holds no dropout: on the CPU it is mostly slower compiled.",
        when="much of the trace is dropout, on the CPU",
        applies=lambda data: data.drops,
        proof="https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_inductor/config.py",
    ),
)


def has_penalty(nodes: Iterable[Seen[BackwardNode]]) -> bool:
    """Tell whether squares are added up of about as many tensors as are given gradients.

    Where differences are squared it is a loss, or keeps weights near others; norms in a model have
    means instead of sums, or roots.
    """
    called: dict[str, int] = {}
    for row in nodes:
        if not row.record.evaluated:
            name = row.record.node.rpartition("::")[2].rstrip("0123456789")
            called[name] = called.get(name, 0) + row.count
    squares, sums = called.get("PowBackward", 0), called.get("SumBackward", 0)
    given = called.get("AccumulateGrad", 0)
    least = max(MIN_SQUARES, MIN_PART * given)
    # Differences are squared in losses, sums of squares have roots where they are lengths.
    others = ("SubBackward", "SqrtBackward", "RsqrtBackward")
    other = sum(called.get(name, 0) for name in others)
    return least <= squares <= given and sums >= squares > 2 * other
