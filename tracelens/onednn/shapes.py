"""What the shape of a product says: rows, depth, columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracelens.logs._problems import Product, product_of

if TYPE_CHECKING:
    from tracelens.logs.onednn_verbose import Primitive

__all__ = ["Product", "product_of", "rows_of", "unpacks"]

_FLOATS = frozenset({"f32", "bf16", "f16"})
_INTEGERS = frozenset({"s8", "u8", "s4", "u4"})


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
