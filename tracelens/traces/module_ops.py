"""Which operators took how long in which module: what the table ``ops`` holds, by modules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.traces.measured import Measured
from tracelens.traces.products import Products, Work
from tracelens.traces.span_rows import paths_of
from tracelens.traces.spans import Kind

if TYPE_CHECKING:
    from tracelens.traces.reading import Reading

__all__ = ["REST", "ModuleOp", "module_ops"]

#: Rows, those that took longest; what is left is one row more.
MAX_ROWS = 1_000
REST = "the rest"


class ModuleOp(Measured):
    """An operator on one shape in one module; ``module`` is None outside of modules."""

    module: str | None
    name: str
    shapes: str
    dtype: str | None
    n: int
    sum_ms: float


def module_ops(reading: Reading, *, on_host: bool) -> Iterator[ModuleOp]:
    """Yield the operators of each module; nothing where no modules were recorded.

    The rows add up to those of ``ops``: what is beyond the longest is in the last.
    """
    products = reading.devices.products
    tree = reading.spans.of({Kind.MODULE})
    if tree is None or not products.works:
        return
    mine, paths = paths_of(tree)
    sums: dict[tuple[int, int], list[float]] = {}
    for at, position in enumerate(tree.owners(products.called)):
        us, n = _taken(products, at, on_host=on_host)
        if us > 0:
            path = mine[position] if position >= 0 else -1
            held = sums.setdefault((products.called.works[at], path), [0.0, 0])
            held[0] += us
            held[1] += n
    rows = [
        _row(products.works[work], paths[path][0] if path >= 0 else None, us, int(n))
        for (work, path), (us, n) in sums.items()
    ]
    rows += _without_call(products, sums)
    rows.sort(key=lambda row: (-row.sum_ms, row.module or "", row.name, row.shapes))
    yield from rows[:MAX_ROWS]
    if rest := rows[MAX_ROWS:]:
        ms = round(sum(row.sum_ms for row in rest), 6)
        n = sum(row.n for row in rest)
        yield ModuleOp(module=None, name=REST, shapes="", dtype=None, n=n, sum_ms=ms)


def _taken(products: Products, at: int, *, on_host: bool) -> tuple[float, int]:
    """Return how long a call took, and whether it counts as one."""
    called = products.called
    return (called.host_us[at], 1) if on_host else (called.us[at], called.ran[at])


def _without_call(
    products: Products, sums: dict[tuple[int, int], list[float]]
) -> Iterator[ModuleOp]:
    """Yield what is known without the call of an operator: of kernels that say it themselves."""
    told: dict[int, tuple[float, int]] = {}
    for (at, _), (us, n) in sums.items():
        before = told.get(at, (0.0, 0))
        told[at] = before[0] + us, before[1] + int(n)
    for number, work in enumerate((*products.works, *products.annotated)):
        known, calls = told.get(number, (0.0, 0))
        if round(work.us - known, 3) > 0:
            yield _row(work, None, work.us - known, max(work.count - calls, 0))


def _row(work: Work, module: str | None, us: float, n: int) -> ModuleOp:
    return ModuleOp(
        module=module,
        name=work.what,
        shapes=work.shape,
        dtype=work.dtype or None,
        n=n,
        sum_ms=round(us / 1000, 6),
    )
