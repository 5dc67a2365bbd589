"""The loops of generated C++ kernels: how often they turn, and whether they use vectors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any, TypeVar

import msgspec
from pydantic import BeforeValidator

from tracelens import grammars
from tracelens.instances import made
from tracelens.late import late
from tracelens.logs import Record
from tracelens.logs._generated import fill
from tracelens.remembered import forgets

__all__ = ["Block", "Header", "Loop", "Nest", "Region", "Strip", "nest_of", "regions", "strips"]

B = TypeVar("B", bound="Block")

#: How vector instructions show in a source.
VECTOR = ("at::vec::", "transpose_mxn")
#: How a statement begins that computes one lane of a vector.
LANES = ("tmpbuf_out[", "tmpbuf_mantissa[", "result[offset_idx] =")


def _whole(children: object) -> object:
    """Return the number that a bound consists of; None for a symbolic one."""
    if not isinstance(children, list):
        return children
    return int(children[0]) if children else None


Whole = Annotated[int | None, BeforeValidator(_whole)]


class Header(Record):
    """``for(int64_t x0=0; x0<64; x0+=16)``. A bound that is not a number is None."""

    #: Empty for a loop of another form.
    counter: str = ""
    first: Whole = None
    bound: Whole = None
    by: Whole = 1

    @property
    def is_range(self) -> bool:
        """Whether it runs over a dimension of the result, not over the lanes of a vector."""
        # Torch 2.0 counts with i0, i1; the lanes of a vector have a counter without number.
        return self.counter[:1] in {"x", "i"} and self.counter[1:].isdecimal()

    @property
    def span(self) -> int | None:
        """How many elements it covers; None where that is symbolic."""
        if self.first is None or self.bound is None:
            return None
        return max(0, self.bound - self.first)

    @property
    def trips(self) -> int | None:
        """How often the body runs; None where that is symbolic."""
        return None if self.span is None or not self.by else math.ceil(self.span / self.by)


class Block(Record):
    """What stands between two braces."""

    texts: tuple[str, ...] = ()
    #: The OpenMP directives in it.
    omps: tuple[str, ...] = ()
    loops: tuple[Loop, ...] = ()
    blocks: tuple[Block, ...] = ()


class Loop(Record):
    """A loop and its body."""

    #: The line within the source.
    at: int = 0
    header: Header
    block: Block | None = None
    #: The body where it is one loop, or one statement.
    inner: Loop | None = None
    line: str = ""

    @property
    def body(self) -> Block:
        """The body, whatever its form."""
        if self.block is not None:
            return self.block
        loops = () if self.inner is None else (self.inner,)
        return Block(texts=(self.line,) if self.line else (), loops=loops)


Block.model_rebuild()


class Nest(Block):
    """A whole source."""


#: What begins in a source, as the grammar's terminals have it, each before those behind it.
_HEAD = r"\bfor ?\([^{}\n]*"
_CODE = late(
    rf"(?:\s[\s,]*+)?+(?:(?P<header>{_HEAD})|(?P<omp>#pragma omp[^\n]*)|(?P<close>\}})"
    r"|(?P<open>\{)|(?P<blank>\Z)|(?P<text>[^{}\s](?:[^{}f#]++|(?!\bfor ?\(|#pragma omp)[f#])*+))"
)
#: What stands below the header of a loop: a block, another loop, or one statement.
_BODY = late(
    rf"(?:\s[\s,]*+)?+(?:(?P<header>{_HEAD})|(?P<open>\{{)|(?P<line>[^{{}};,\s][^{{}};]*+;))"
)


@lru_cache(maxsize=4096)
def nest_of(source: str) -> Nest | None:
    """Return the loops of a C++ source; None where it is cut or of another form."""
    found = _walked(source)
    return fill("nest", source, Nest) if found is None else found


forgets(nest_of.cache_clear)


class _Open:
    """A block that is not closed yet, and the loops right above it, the outermost first."""

    __slots__ = ("above", "parts")

    def __init__(self, above: list[tuple[int, Header]]) -> None:
        self.above = above
        self.parts: dict[str, list[Any]] = {}

    def add(self, name: str, part: Any) -> None:
        self.parts.setdefault(name, []).append(part)

    def made(self, kind: type[B]) -> B:
        return made(kind, {name: tuple(parts) for name, parts in self.parts.items()})


def _walked(source: str) -> Nest | None:
    """Return what the grammar makes of a source, without asking it; None where only it can tell.

    The terminals are the grammar's own. What is not closed, or ends in a loop without a body, is
    left to it.
    """
    held, above = [_Open([])], list[tuple[int, Header]]()
    at, end, line, counted = 0, len(source), 0, 0
    while at < end:
        match = (_BODY if above else _CODE).match(source, at)
        if match is None:
            return None
        name, at = str(match.lastgroup), match.end()
        if name == "header":
            if (header := _header(match["header"])) is None:
                return None
            line += source.count("\n", counted, match.start(name))
            counted = match.start(name)
            above.append((line, header))
        elif name == "open":
            held.append(_Open(above))
            above = []
        elif name == "close":
            if len(held) == 1:
                return None
            inner = held.pop()
            _close(inner.above, held[-1], block=inner.made(Block))
        elif name == "line":
            _close(above, held[-1], line=match["line"])
            above = []
        elif name != "blank":
            held[-1].add(f"{name}s", match[name])
    return None if len(held) > 1 or above else held[0].made(Nest)


def _header(text: str) -> Header | None:
    try:
        found = grammars.load("output_code", "tracelens.logs.output_code").nested("header", text)
    except grammars.Unreadable:
        return None
    return found if isinstance(found, Header) else None


def _close(above: list[tuple[int, Header]], around: _Open, **body: Any) -> None:
    """Add a block, or the loops that a block or a statement is the body of, to what is around."""
    if not above:
        around.add("blocks", body["block"])
        return
    for at, header in reversed(above):
        body = {"inner": made(Loop, {"at": at, "header": header, **body})}
    around.add("loops", body["inner"])


class Strip(msgspec.Struct, frozen=True):
    """An innermost loop over a dimension, within all loops around it."""

    #: The line within the source.
    at: int
    #: The elements of one pass of the loop itself; None where that is symbolic.
    span: int | None
    #: The elements of one call, as far as they are numbers: symbolic loops count as one pass.
    elements: int
    is_symbolic: bool
    #: The statements in it.
    text: str
    #: Those that take a vector apart: ``tmpbuf_out[i] = zeta(tmpbuf0[i])``.
    lanes: str
    #: The step of the loop; None where that is symbolic.
    by: int | None = None

    @property
    def is_vector(self) -> bool:
        """Whether it uses vector registers."""
        return any(sign in self.text for sign in VECTOR)


class Region(msgspec.Struct, frozen=True):
    """A parallel region inside of serial loops."""

    #: The line of the outermost serial loop within the source.
    at: int
    #: How often it is entered per call, as far as that is known.
    entries: int
    is_symbolic: bool


def strips(nest: Block) -> Iterator[Strip]:
    """Yield the innermost loops over dimensions, in order."""
    yield from _strips(nest, 1, symbolic=False)


def _strips(block: Block, elements: int, *, symbolic: bool) -> Iterator[Strip]:
    for loop in block.loops:
        span = loop.header.span if loop.header.is_range else 1
        count = elements * (1 if span is None else span)
        unknown = symbolic or span is None
        inner = list(_strips(loop.body, count, symbolic=unknown))
        if inner or not loop.header.is_range:
            yield from inner
            continue
        text, lanes = "\n".join(_texts(loop.body)), "\n".join(_lanes(loop.body))
        yield Strip(loop.at, span, count, unknown, text, lanes, loop.header.by)
    for inside in block.blocks:
        yield from _strips(inside, elements, symbolic=symbolic)


def _texts(block: Block) -> Iterator[str]:
    yield from block.texts
    for inside in block.blocks:
        yield from _texts(inside)
    for loop in block.loops:
        yield from _texts(loop.body)


def _lanes(block: Block) -> Iterator[str]:
    for loop in block.loops:
        yield from (text for text in _texts(loop.body) if text.startswith(LANES))
    for inside in block.blocks:
        yield from _lanes(inside)


def regions(nest: Block) -> Iterator[Region]:
    """Yield the parallel regions that serial loops enter again and again."""
    for loop in nest.loops:
        if loop.header.is_range:
            yield from _inside(loop.body, loop.at, *_times(loop.header, 1, symbolic=False))
    for inside in nest.blocks:
        yield from regions(inside)


def _inside(block: Block, at: int, entries: int, symbolic: bool) -> Iterator[Region]:
    if _is_parallel(block):
        yield Region(at, entries, symbolic)
        return
    for loop in block.loops:
        yield from _inside(loop.body, at, *_times(loop.header, entries, symbolic=symbolic))
    for inside in block.blocks:
        yield from _inside(inside, at, entries, symbolic)


def _times(header: Header, entries: int, *, symbolic: bool) -> tuple[int, bool]:
    trips = header.trips
    return entries * (1 if trips is None else trips), symbolic or trips is None


def _is_parallel(block: Block) -> bool:
    return any("parallel" in directive for directive in block.omps)
