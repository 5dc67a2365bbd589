"""Products whose form costs more than what is wanted of them, by what comes before and after.

Operators of one thread follow each other: what a product takes, and what takes its result, is
known by shapes and places alone. Three forms are told: scores of all positions, of which only the
last is taken; a vector that is multiplied with a product of matrices; and a diagonal matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tracelens.logs._trace_events import Complete
from tracelens.traces.activity import ThreadId
from tracelens.traces.measured import Measured
from tracelens.traces.names import Name

__all__ = ["LOOKED_AT", "Needless", "NeedlessProducts"]

#: Operators that are looked at besides those whose work is known.
LOOKED_AT = frozenset(
    f"aten::{name}"
    for name in (
        *("linear", "select", "slice", "diag_embed", "mv", "argmax", "topk", "sort", "gather"),
        *("index", "index_select", "multinomial", "max", "argsort", "logsumexp"),
    )
)
#: Operators of two matrices without a bias -> where these stand among the inputs.
_PRODUCTS = {"aten::mm": (0, 1), "aten::bmm": (0, 1), "aten::mv": (0, 1)}
_BIASED = {"aten::addmm": (1, 2)}
_SIDES = _PRODUCTS | _BIASED
#: How much less the other order must compute.
CHEAPER = 3
MAX_THREADS = 1_024
MAX_FORMS = 200
#: What may come between a product and what takes its result: it is the same, in another type.
_SAME = frozenset({"aten::copy_"})
#: Operators in which what was found may turn out to be used again.
MAX_HELD = 32
#: Besides products, what is looked at where nothing comes before it.
_BEGINS = frozenset({"aten::select", "aten::slice", "aten::diag_embed"})
_ADDED = frozenset({"aten::add", "aten::add_", "aten::sub", "aten::sub_"})


class Needless(Measured):
    """Products of one shape in a form that has a cheaper one."""

    #: ``head``, ``order`` or ``diagonal``.
    form: str
    #: The operator and its shape, as ``ops`` has them.
    what: str
    shape: str
    count: int
    #: Part of what they take that the cheaper form saves.
    saves: float
    #: Whether shapes tell that one takes the other's result; else it may be another of its size.
    sure: bool = True


@dataclass(slots=True)
class _Product:
    """The last product of a thread, and what it is by now."""

    name: Name
    what: str
    batch: int
    rows: int
    inner: int
    columns: int
    #: Whether a module called it, with weights.
    weighs: bool
    #: The last position is all that was taken so far, of so many.
    of: int = 0
    #: Its left or right side may be the diagonal matrix made right before it.
    diagonal: bool = False
    fresh: bool = True

    @property
    def shape(self) -> str:
        """As the table of operators has it."""
        many = f"{self.batch}x " if self.batch else ""
        return f"{many}{self.rows}x{self.inner} by {self.inner}x{self.columns}"


@dataclass(slots=True)
class _Held:
    """What was found, until it is known that nothing else takes the result of the product."""

    form: str
    product: _Product
    saves: float
    sure: bool = True
    left: int = MAX_HELD


@dataclass(slots=True)
class _Thread:
    end: float = 0.0
    linear_end: float = 0.0
    last: _Product | None = None
    #: Side of the diagonal matrix that was made last, if nothing came after it.
    side: int = 0
    held: _Held | None = None


@dataclass(slots=True)
class _Sum:
    name: Name
    count: int = 0
    saves: float = 0.0


@dataclass
class NeedlessProducts:
    """Those of one trace."""

    _threads: dict[ThreadId, _Thread] = field(default_factory=dict)
    _sums: dict[tuple[str, str, str, bool], _Sum] = field(default_factory=dict)

    def follow(self, operators: Iterable[tuple[Complete, Name]]) -> None:
        """Take in the next operators, in order of time on each thread."""
        pid = tid = object()  # of none
        thread: _Thread | None = None
        for event, name in operators:
            if event.tid != tid or event.pid != pid:
                pid, tid = event.pid, event.tid
                thread = self._threads.get((pid, tid))
                if thread is None and len(self._threads) < MAX_THREADS:
                    thread = self._threads[pid, tid] = _Thread()
            if thread is None:
                continue
            if event.name == "aten::linear":
                thread.linear_end = event.ts + event.dur
            elif event.ts >= thread.end:
                thread.end = event.ts + event.dur
                self._next(thread, event, name)

    def found(self) -> Iterator[tuple[Name, Needless]]:
        """Yield the forms, with the first product of each."""
        for thread in self._threads.values():
            self._let_go(thread)
            self._settle(thread)
        for (form, what, shape, sure), each in self._sums.items():
            row = Needless(
                form=form,
                what=what,
                shape=shape,
                count=each.count,
                saves=round(each.saves, 6),
                sure=sure,
            )
            yield each.name, row

    def _next(self, thread: _Thread, event: Complete, name: Name) -> None:
        sides = _SIDES.get(event.name)
        waits = thread.last is not None or thread.held is not None
        if not (waits or sides or event.name in _BEGINS):
            return
        shapes = _decoded(event.args.dims if event.args is not None else b"")
        if thread.held is not None:
            self._use_again(thread, thread.held, shapes)
        if sides:
            self._multiply(thread, event, name, shapes, sides)
        elif event.name == "aten::diag_embed":
            self._let_go(thread)
            thread.side = _number(shapes, 0, -1)
        else:
            thread.side = 0
            if thread.last is not None:
                self._take(thread, thread.last, event, shapes)

    def _multiply(
        self, thread: _Thread, event: Complete, name: Name, shapes: Any, sides: tuple[int, int]
    ) -> None:
        product = _product(event, name, shapes, sides, weighs=event.ts < thread.linear_end)
        side, thread.side = thread.side, 0
        last = thread.last
        if product is None:
            self._let_go(thread)
            return
        plain = event.name in _PRODUCTS and not product.weighs
        if last is not None and last.fresh and plain and not last.weighs:
            self._order(thread, last, product)
        self._let_go(thread)
        held = thread.held
        if held is not None and held.form == "head":
            self._use_again(thread, held, shapes)
        if held is not None and (held.product.what, held.product.shape) == (
            event.name,
            product.shape,
        ):
            self._settle(thread)  # another round: what follows takes its result
        square = (product.rows, product.inner), (product.inner, product.columns)
        product.diagonal = plain and side > 1 and (side, side) in square
        thread.last = product

    def _order(self, thread: _Thread, first: _Product, then: _Product) -> None:
        """Keep a product that is multiplied, right after it, with something narrow."""
        if first.what in _BIASED or first.diagonal:
            return
        if (first.batch, first.rows, first.columns) != (then.batch, then.rows, then.inner):
            return
        rows, inner, between, narrow = first.rows, first.inner, first.columns, then.columns
        now = rows * inner * between + rows * between * narrow
        other = inner * between * narrow + rows * inner * narrow
        if CHEAPER * other > now:
            return
        # Else the second may take what the first took, or be the gradient of what it gave.
        sure = between != inner and (narrow != inner or bool(first.batch))
        if sure or narrow == 1:
            self._hold(thread, _Held("order", first, 1 - other / now, sure))

    def _take(self, thread: _Thread, last: _Product, event: Complete, shapes: Any) -> None:
        """See what is done with the result of a product: its last position is taken, or more."""
        last.fresh = False
        shape = shapes[0] if isinstance(shapes, list) and shapes else []
        if last.diagonal and event.name in _ADDED:  # a diagonal is added, not multiplied with
            last.diagonal = False
        if not _is_result(shape, last):
            if not (last.of or last.diagonal):
                thread.last = None
            return
        if event.name in _SAME:
            return
        position = _position(event, shape)
        if position is None:
            return
        if position == (-1, -1) or (last.of and position[0] >= 0):
            thread.last = None if not last.diagonal else last
            last.of = 0
        elif position[0] >= 0:
            last.of = position[1]

    def _let_go(self, thread: _Thread) -> None:
        """Keep the last product of a thread, if it is one of these; nothing else takes it."""
        last, thread.last = thread.last, None
        if last is not None and last.of > 1:
            self._hold(thread, _Held("head", last, 1 - 1 / last.of))
        if last is not None and last.diagonal:
            self._keep(_Held("diagonal", last, 1.0))

    def _hold(self, thread: _Thread, held: _Held) -> None:
        self._settle(thread)
        thread.held = held

    def _settle(self, thread: _Thread) -> None:
        held, thread.held = thread.held, None
        if held is not None:
            self._keep(held)

    def _use_again(self, thread: _Thread, held: _Held, shapes: Any) -> None:
        """Forget what was found if an operator takes the result, too; keep it after some others."""
        held.left -= 1
        each = shapes if isinstance(shapes, list) else []
        if any(_is_result(shape, held.product, turned=True) for shape in each):
            thread.held = None
        elif held.left <= 0:
            self._settle(thread)

    def _keep(self, held: _Held) -> None:
        product = held.product
        key = held.form, product.what, product.shape, held.sure
        if key not in self._sums and len(self._sums) >= MAX_FORMS:
            return
        each = self._sums.setdefault(key, _Sum(product.name))
        each.count += 1
        each.saves = held.saves


def _decoded(text: bytes | None) -> Any:
    try:
        return msgspec.json.decode(text) if text else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _number(shapes: Any, at: int, side: int) -> int:
    try:
        found = shapes[at][side]
    except (TypeError, IndexError, KeyError):
        return 0
    return found if isinstance(found, int) else 0


def _product(
    event: Complete, name: Name, shapes: Any, sides: tuple[int, int], *, weighs: bool
) -> _Product | None:
    try:
        left, right = (shapes[at] for at in sides)
        *batch, rows, inner = left
        columns = right[-1] if len(right) > 1 else 1
        numbers = (*batch, rows, inner, columns)
    except (TypeError, IndexError, ValueError, KeyError):
        return None
    if not all(isinstance(number, int) and number > 0 for number in numbers):
        return None
    return _Product(
        name, event.name, math.prod(batch) if batch else 0, rows, inner, columns, weighs
    )


def _is_result(shape: Any, product: _Product, *, turned: bool = False) -> bool:
    """Tell whether a tensor has the size of what a product gives, and its rows, or columns."""
    if not isinstance(shape, list) or not all(isinstance(side, int) for side in shape):
        return False
    size = max(1, product.batch) * product.rows * product.columns
    rows = shape[-2:] if turned else shape[-1:]
    return product.columns in rows and math.prod(shape) == size


def _position(event: Complete, shape: list[int]) -> tuple[int, int] | None:
    """Return which dimension's last position is taken, and of how many; -1 for anything else.

    None for a slice that takes all.
    """
    if event.name not in {"aten::select", "aten::slice"} or len(shape) < 2:
        return -1, -1
    values = _decoded(event.args.values if event.args is not None else b"")
    try:
        numbers = [int(value) for value in values[1:] if value not in ("", "None")]
    except (TypeError, ValueError, KeyError, OverflowError):
        return -1, -1
    if not numbers:
        return -1, -1
    dim, *places = numbers
    dim = dim + len(shape) if dim < 0 else dim
    if not 0 <= dim < len(shape) or not places:
        return -1, -1
    sides, start = shape[dim], places[0]
    if event.name == "aten::slice" and start in (0, -sides) and places[1:2] and places[1] >= sides:
        return None
    last = start in (-1, sides - 1)
    return (dim, sides) if last and dim == len(shape) - 2 else (-1, -1)
