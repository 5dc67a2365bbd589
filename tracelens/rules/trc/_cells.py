"""Cells of recurrent modules, called one by one."""

from __future__ import annotations

from tracelens.evidence import Table
from tracelens.logs.chrome_trace import Operator

__all__ = ["recurrent_cells"]

#: Cells of recurrent modules, and part of what is launched that one of them brings at least.
_CELLS = frozenset({"lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"})
_FUSED = frozenset({"_thnn_fused_lstm_cell", "_thnn_fused_gru_cell"})
EACH_CELL = 10
_BACKWARD = frozenset({f"{name}_backward" for name in _FUSED})
EACH_TRAINED = 24


def recurrent_cells(operators: Table[Operator], source: str, launches: float) -> int:
    """Return how many cells of recurrent modules are called, where they are much of the launches.

    A cell launches two products and itself; its backward pass four products and sums for biases,
    and adds each to the gradients of the step after it. A layer on top launches some more.
    """
    rows = list(operators.within(source))
    cells = max(
        sum(row.count for row in rows if row.record.op in names) for names in (_CELLS, _FUSED)
    )
    trained = any(row.record.op in _BACKWARD for row in rows)
    return cells if (EACH_TRAINED if trained else EACH_CELL) * cells >= launches > 0 else 0
