"""Forward passes of a program on the CPU that no backward pass follows, though it is trained."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from tracelens.evidence import Seen
from tracelens.logs.chrome_trace import BackwardNode, Operator

__all__ = ["Forward", "forward_alone"]

#: Nodes of the backward pass -> what calls them into being. None of these calls another.
_BEGINS = {
    "ConvolutionBackward0": "aten::convolution",
    "AddmmBackward0": "aten::addmm",
    "EmbeddingBackward0": "aten::embedding",
    "GeluBackward0": "aten::gelu",
    "MaxPool2DWithIndicesBackward0": "aten::max_pool2d_with_indices",
    "NativeBatchNormBackward0": "aten::native_batch_norm",
    "NativeGroupNormBackward0": "aten::native_group_norm",
    "NativeLayerNormBackward0": "aten::native_layer_norm",
    "ReluBackward0": "aten::relu",
    "SiluBackward0": "aten::silu",
}
#: How many of them there are at least, and how far apart their numbers may be: parts that are
#: frozen, or a model of another kind, leave others than those that are trained.
MIN_KINDS = 2
ALIKE = 0.1
#: Forward passes for each backward pass from which on they are told.
MIN_PASSES = 1.5
#: Nodes of classes in Python: checkpoints of the older kind run the forward pass without a graph.
_OF_PYTHON = re.compile(r"(?!Copy)\w*Backward\Z")


class Forward(NamedTuple):
    """Forward passes, for each backward pass, and what those without one take at most."""

    passes: float
    ms: float
    #: The operator that takes longest.
    longest: Seen[Operator]


def forward_alone(
    operators: Iterable[Seen[Operator]], nodes: Iterable[Seen[BackwardNode]]
) -> Forward | None:
    """Return the forward passes without a backward pass, where each kind of operator tells so."""
    known = {row.record.node: row.count for row in nodes if not row.record.evaluated}
    if any(_OF_PYTHON.match(node) for node in known):
        return None
    called = {str(row.record): row for row in operators}
    pairs = [(called[name], known.get(node, 0)) for node, name in _BEGINS.items() if name in called]
    if len(pairs) < MIN_KINDS or not all(back for _, back in pairs):
        return None
    passes = [row.count / back for row, back in pairs]
    least, most = min(passes), max(passes)
    if least < MIN_PASSES or most > (1 + ALIKE) * least:
        return None
    ms = sum(row.ms for row, _ in pairs) * (1 - 1 / least)
    return Forward(least, ms, max((row for row, _ in pairs), key=lambda row: row.ms))
