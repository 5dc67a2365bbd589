"""What is computed between one convolution and the next, where the log holds the graphs."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracelens.evidence import Table
    from tracelens.logs.graph_code import FxGraph

__all__ = ["is_chain"]

#: Graphs, and statements of one, that are read.
MAX_GRAPHS, MAX_STATEMENTS = 20, 2_000
_CONVOLUTIONS = ("conv2d", "conv3d", "conv_transpose2d", "conv_transpose3d")
#: Operators that compute in the layout of their input, by the last part of their name.
_KEEPING = frozenset(
    {"add", "iadd", "sub", "isub", "mul", "imul", "truediv", "neg", "pow", "cat", "chunk", "clamp"}
    | {"relu", "relu_", "relu6", "leaky_relu", "elu", "gelu", "silu", "hardswish", "hardtanh"}
    | {"hardsigmoid", "sigmoid", "tanh", "softplus", "mish", "exp", "dropout", "dropout2d"}
    | {"batch_norm", "group_norm", "pad", "interpolate", "upsample", "size", "getitem", "getattr"}
    | {"max_pool2d", "max_pool3d", "avg_pool2d", "avg_pool3d", "mean"}
    | {"adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool2d", "where"}
    | {"add_", "mul_", "sub_", "zeros_like", "ones_like", "Size", "sym_size", "sym_sum", "floordiv"}
    | {"_operator_not_", "lt", "gt"}
)


def is_chain(graphs: Table[FxGraph]) -> bool:
    """Whether nothing between the convolutions of any graph needs torch's default layout."""
    found = [part for row in islice(graphs, MAX_GRAPHS) if (part := _between(row.record))]
    return bool(found) and all(part <= _KEEPING for part in found)


def _between(graph: FxGraph) -> set[str]:
    """Return the operators from the first convolution to the last; none where there is only one."""
    if not graph.traced or "conv" not in graph.body:
        return set()
    names = [_name(node.target, node.expression) for node in islice(graph.nodes, MAX_STATEMENTS)]
    at = [number for number, name in enumerate(names) if name in _CONVOLUTIONS]
    return {name for name in names[at[0] : at[-1]] if name} - {*_CONVOLUTIONS} if at else set()


def _name(target: str, expression: str) -> str:
    """Return the operator; an expression is a product, or computes element by element."""
    return target.rpartition(".")[2] if target else "matmul" if "@" in expression else ""
