"""Sparse tensors, which Dynamo does not trace, and products with them."""

from __future__ import annotations

from typing import Protocol

from tracelens.late import late
from tracelens.remedies import Remedy

__all__ = ["DENSE_PARTS", "EDGE_LIST", "is_sparse", "multiplies", "takes_parts"]

_SPARSE = "Attempted to wrap sparse Tensor"
#: A product: what the record is about is then the matrix, or both.
_PRODUCT = late(
    r"\bsparse\.(?:mm|addmm|matmul)\(|\btorch\.(?:spmm|mm|matmul|addmm)\(|\w\.(?:mm|matmul)\("
    r"|[\w)\]] @ [\w(]"
)
#: What takes a sparse tensor apart, or makes one.
_PARTS = late(r"\.(?:_?indices|_?values)\(\)|\bsparse_(?:coo|csr)_tensor\(")


class _Told(Protocol):
    """What a finding knows of a break."""

    @property
    def reason(self) -> str: ...
    @property
    def package(self) -> str: ...


def is_sparse(data: _Told) -> bool:
    """Whether a sparse tensor breaks the graph."""
    return data.reason.startswith(_SPARSE)


def _code(data: _Told) -> str:
    return getattr(data, "code", "") if is_sparse(data) and not data.package else ""


def multiplies(data: _Told) -> bool:
    """Whether the line, one of the program's own, is a product with the sparse tensor."""
    return bool(_PRODUCT.search(_code(data)))


def takes_parts(data: _Told) -> bool:
    """Whether the line, one of the program's own, takes a sparse tensor apart, or makes one."""
    return bool(_PARTS.search(_code(data)))


EDGE_LIST = Remedy(
    "edge-list",
    "Keep the matrix as three dense tensors, its rows, columns and values, and write the product "
    "with `index_add`, which is traced: then the graph need not break. Where values are dropped or "
    "made anew, do so with the dense ones. It pays compiled alone: in training on one CPU thread a "
    "step was 1.3 to 2.4 times as fast, with 5 thousand to 200 thousand entries and 16 to 128 "
    "columns of `x`; eager it was up to 11 times as slow as the sparse product. With more threads, "
    "or on a GPU, measure.",
    when="a product with a sparse matrix, in a line of your own",
    applies=multiplies,
    code="adj = adj.coalesce()  # once, where it is made, outside of what is compiled\n"
    "(row, col), value, size = adj.indices().clone(), adj.values().clone(), adj.shape[0]\n"
    "parts = value[:, None] * x[col]  # these two lines in place of `y = adj @ x`\n"
    "y = parts.new_zeros(size, parts.shape[1]).index_add(0, row, parts)",
    basis="tested",
    proof="tests/advice/GBR006/edge-list.py",
)
DENSE_PARTS = Remedy(
    "dense-parts",
    lambda data: (
        "Or, where the sparse tensor has to stay, compile instead the modules that take and return "
        "dense ones, if most of the time goes to those."
        if multiplies(data)
        else "Dynamo traces no sparse tensors. Where most of the time goes to modules that take "
        "and return dense ones, compile those instead; where it does not, nothing is gained by it: "
        "leave what takes the sparse one as it is."
    ),
    when="a sparse tensor",
    applies=is_sparse,
    basis="tested",
    proof="tests/advice/GBR006/dense-parts.py",
)
