"""What the shape of a product says: rows, depth, columns."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from tracelens.logs.onednn_verbose import Primitive

__all__ = ["Product", "product_of", "rows_of", "unpacks"]

_FLOATS = frozenset({"f32", "bf16", "f16"})
_INTEGERS = frozenset({"s8", "u8", "s4", "u4"})


class Product(NamedTuple):
    """A matrix product: ``rows`` x ``depth`` by ``depth`` x ``columns``, ``batch`` times."""

    rows: int
    depth: int
    columns: int
    batch: int = 1


def product_of(run: Primitive) -> Product | None:
    """Return the matrix product that ``run`` is; None where the shape does not tell.

    A convolution is one of its output points by its window; its groups are the batch.
    """
    named, dims = run.problem.named, run.problem.dims
    if run.primitive in {"matmul", "gemm", "gemm_api"}:
        if not dims or len(dims) < 2 or min(len(dims[0]), len(dims[1])) < 2:
            return None
        source, weights = dims[:2]
        return Product(source[-2], source[-1], weights[-1], prod(source[:-2]))
    if not {"mb", "ic", "oc"} <= named.keys():
        return None
    if run.primitive == "inner_product":
        window = prod(named.get(name, 1) for name in ("id", "ih", "iw"))
        return Product(named["mb"], named["ic"] * window, named["oc"])
    if run.primitive in {"convolution", "deconvolution"}:
        points = named["mb"] * prod(named.get(name, 1) for name in ("od", "oh", "ow"))
        window = prod(named.get(name, 1) for name in ("kd", "kh", "kw"))
        groups = max(1, named.get("g", 1))
        return Product(points, named["ic"] // groups * window, named["oc"] // groups, groups)
    return None


def rows_of(run: Primitive) -> int | None:
    """Return how many rows share the weights of ``run``; None where the shape does not tell."""
    if run.primitive == "rnn":
        return run.problem.named.get("mb")
    product = product_of(run)
    return product.rows if product else None


def unpacks(run: Primitive) -> bool:
    """Whether ``run`` multiplies float activations by integer weights."""
    types = run.dtypes
    return (
        run.primitive in {"matmul", "inner_product"}
        and types.get("src") in _FLOATS
        and types.get("wei") in _INTEGERS
    )
