"""What a primitive computes, whatever its implementation: the key that other logs have too."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tracelens.logs.onednn_verbose import Primitive

__all__ = ["PRODUCTS", "Product", "Task", "product_of", "task_of"]

#: Primitives whose shape is that of a matrix product.
PRODUCTS = frozenset({"matmul", "inner_product"})
_SPACE = ("id", "ih", "iw", "od", "oh", "ow", "kd", "kh", "kw")


class Product(NamedTuple):
    """A matrix product: ``rows`` x ``depth`` by ``depth`` x ``columns``, ``batch`` times."""

    rows: int
    depth: int
    columns: int
    batch: int = 1


class Task(NamedTuple):
    """A primitive without what oneDNN decides: layouts, implementation."""

    #: ``inner_product``, ``matmul``, ``convolution``.
    primitive: str
    backward: bool
    #: Rows, depth, columns and batch of a product; batch, channels, groups and space of another.
    sizes: tuple[int, ...]

    @classmethod
    def convolution(
        cls, given: tuple[int, ...], weight: tuple[int, ...], result: tuple[int, ...], *, back: bool
    ) -> Task | None:
        """Return the convolution of tensors of these sizes; None where they do not go together."""
        space = len(given) - 2
        if not 1 <= space <= 3 or len(weight) != len(given) or len(result) != len(given):
            return None
        if not weight[1] or given[1] % weight[1] or result[1] != weight[0]:
            return None
        ones = (1,) * (3 - space)
        sizes = (given[0], given[1], weight[0], given[1] // weight[1])
        return cls(
            "convolution",
            back,
            (*sizes, *ones, *given[2:], *ones, *result[2:], *ones, *weight[2:]),
        )


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


def task_of(run: Primitive) -> Task | None:
    """Return what ``run`` computes; None where its line does not tell all sizes."""
    if run.primitive in PRODUCTS:
        product = product_of(run)
        return Task(run.primitive, run.is_training, tuple(product)) if product else None
    named = run.problem.named
    if run.primitive != "convolution" or not {"mb", "ic", "oc"} <= named.keys():
        return None
    sizes = (named["mb"], named["ic"], named["oc"], max(1, named.get("g", 1)))
    space = tuple(named.get(name, 1) for name in _SPACE)
    return Task("convolution", run.is_training, (*sizes, *space))
