"""Sizes that became constants: which line of code did it, in which compilations."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Place, Seen, Table
from tracelens.logs import Joined
from tracelens.logs._comment import Comment

if TYPE_CHECKING:
    from tracelens.logs.dynamic import CreateSymbol, GuardAdded, Replaced
    from tracelens.logs.recompiles import Recompile

__all__ = ["CERTAIN", "SpecializedSize", "by_line", "needed", "told_of"]

#: Compilations that made a size a constant, from which on each new size is compiled.
CERTAIN = 2

#: What torch gives as its reason where a condition leaves a symbol one value.
SINGLETON = "range_refined_to_singleton"
#: Up to torch 2.2 no reason is printed.
_REASONS = frozenset({"", SINGLETON})

_SYMBOL = re.compile(r"\b[a-z]+\d+\b")

Key = tuple[str, str, str]


class SpecializedSize(Joined):
    """In one compilation, a size or number that was a symbol became a constant."""

    #: ``L['x'].size()[0]``, and the constant.
    source: str
    value: str
    #: ``Eq(s53, 160)``, and the line that it is from.
    condition: str = ""
    line: Comment | None = None
    #: The function that was compiled, and where it is defined; the log has it at a recompile.
    function: str = ""
    file: str = ""
    defined: int = 0
    #: ``0`` of ``0/1``.
    frame: str = ""
    #: What is that size as well: it was found to be equal before, and stands for no symbol since.
    equal: tuple[str, ...] = ()

    @property
    def definition(self) -> tuple[str, str, int]:
        """The function: name, file, line."""
        return self.function, self.file, self.defined

    @property
    def is_by_operator(self) -> bool:
        """Whether an operator asked for it, such as a product with a weight, and not Python.

        What a program computes with NumPy, torch traces by its own in ``torch/_numpy``.
        """
        origin = self.line.origin if self.line else ""
        return bool(origin) and not any(part in origin for part in ("_dynamo/", "_numpy/"))

    @property
    def subject(self) -> tuple[str, int | None]:
        """The tensor and the dimension, as a recompile names them; the number, and None."""
        return _subject(self.source)

    @property
    def subjects(self) -> tuple[tuple[str, int | None], ...]:
        """The same, of all that were found to be equal."""
        return tuple(_subject(source) for source in (self.source, *self.equal))

    @classmethod
    def join(
        cls,
        replaced: Table[Replaced],
        *,
        symbols: Table[CreateSymbol],
        guards: Table[GuardAdded],
        recompiles: Table[Recompile],
    ) -> Iterator[Seen[SpecializedSize]]:
        """Yield one per symbol of an input that became a constant, in one compilation each."""
        sources = {
            (*place.compilation, row.record.symbol): row.record for place, row in symbols.events()
        }
        lines: dict[tuple[Key, str], Seen[GuardAdded]] = {}
        for place, guard in guards.events():
            lines.setdefault((place.compilation, guard.record.expression), guard)
            if only := _only_symbol(guard.record.expression):
                lines.setdefault((place.compilation, only), guard)
        equal: defaultdict[tuple[Key, str], list[str]] = defaultdict(list)
        functions: defaultdict[tuple[str, str, str], list[tuple[Place, Recompile]]]
        functions = defaultdict(list)
        for place, row in recompiles.events():
            functions[(*place.process, place.frame.partition("/")[0])].append((place, row.record))
        for place, seen in replaced.events():
            if other := sources.get((*place.compilation, seen.record.symbol)):
                equal[place.compilation, seen.record.target].append(other.source)
            symbol = sources.get((*place.compilation, seen.record.symbol))
            if symbol is None or not _is_constant(seen.record):
                continue
            condition = f"Eq({seen.record.symbol}, {seen.record.target})"
            guard_row = lines.get((place.compilation, condition)) or lines.get(
                (place.compilation, seen.record.symbol)
            )
            frame = place.frame.partition("/")[0]
            known = functions.get((*place.process, frame))
            record = known[0][1] if known else None
            made = cls(
                source=symbol.source,
                value=seen.record.target,
                condition=guard_row.record.expression if guard_row else "",
                line=guard_row.record.where if guard_row else None,
                function=record.function if record else "",
                file=record.file if record else "",
                defined=record.line if record else 0,
                frame=frame,
                equal=tuple(equal.get((place.compilation, seen.record.symbol), ())),
            )
            yield (guard_row or seen).about(made, [place])


def by_line(sizes: Table[SpecializedSize]) -> list[list[Seen[SpecializedSize]]]:
    """Return what lines of code made constant, by process, function, size and line.

    What an operator asked for is left out, and what a weight did, which has that size.
    """
    groups: defaultdict[tuple[object, ...], list[Seen[SpecializedSize]]] = defaultdict(list)
    for row in sizes:
        record, line = row.record, row.record.line
        if record.is_by_operator or "_parameters[" in record.source:
            continue  # a weight has that size: RCP018 is about it
        about = (line.code, line.file, line.line) if line else ("", "", 0)
        groups[row.first.process, record.frame, record.source, *about].append(row)
    return list(groups.values())


def told_of(sizes: Table[SpecializedSize]) -> set[tuple[object, ...]]:
    """Return the functions and sizes that a finding names the line of, where there are more."""
    return {
        (group[0].record.definition, *subject)
        for group in by_line(sizes)
        if len({row.record.value for row in group}) >= CERTAIN
        for subject in group[0].record.subjects
    }


def needed(sizes: Table[SpecializedSize]) -> dict[tuple[object, ...], dict[str, str]]:
    """Return the functions and sizes that became constants: by constant, the line that needed it.

    Entries of one function may be held by different lines: a size of 5 may be that of a weight.
    """
    found: dict[tuple[object, ...], dict[str, str]] = {}
    for row in sizes:
        code = row.record.line.code if row.record.line else ""
        for subject in row.record.subjects:
            about = found.setdefault((row.record.definition, *subject), {})
            about.setdefault(row.record.value, code)
    return found


def _only_symbol(expression: str) -> str:
    """Return the symbol of ``Eq(s27 - 1, 10)``, which leaves it one value; empty of others."""
    names = set(_SYMBOL.findall(expression)) if expression.startswith("Eq(") else ()
    return next(iter(names)) if len(names) == 1 else ""


def _is_constant(record: Replaced) -> bool:
    """Whether a condition left the symbol one value."""
    return record.reason in _REASONS and record.target.lstrip("-").isdecimal()


def _subject(source: str) -> tuple[str, int | None]:
    tensor, found, rest = source.rpartition(".size()[")
    index = rest.removesuffix("]")
    if not found or not index.isdecimal() or len(index) > 2:
        return _bare(source), None
    return _bare(tensor), int(index)


def _bare(source: str) -> str:
    """Return ``x.y`` for ``L['x'].y``, as recompiles spell it since torch 2.7."""
    if source[:3] in {"L['", "G['"}:
        name, _, rest = source[3:].partition("']")
        return f"{name}{rest}"
    return source
