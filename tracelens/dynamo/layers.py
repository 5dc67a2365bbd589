"""Functions that serve the layers of a model: each layer's sizes ask for an entry of their own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo.blocks import SIZED
from tracelens.dynamo.recompile_variants import is_parameter
from tracelens.evidence import Place, Seen, Table
from tracelens.logs import Joined
from tracelens.logs.recompiles import Recompile

if TYPE_CHECKING:
    from tracelens.dynamo.specialised import SpecializedSize
    from tracelens.logs.guards import GuardTree

__all__ = ["LayerShapes", "serves_layers"]

_PARAMETER = "._parameters["

#: Shapes of one parameter that tell of layers.
MIN_SHAPES = 2

#: A function in one process, as Dynamo numbers it.
Frame = tuple[str, str, str]


class LayerShapes(Joined):
    """A function whose parameters have other shapes from entry to entry.

    The channels of its input change with them: that is no input that varies, and no symbol helps.
    """

    function: str
    file: str
    line: int

    @property
    def definition(self) -> tuple[str, str, int]:
        """Which function it is."""
        return self.function, self.file, self.line

    @classmethod
    def join(
        cls,
        recompiles: Table[Recompile],
        *,
        trees: Table[GuardTree],
        sizes: Table[SpecializedSize],
    ) -> Iterator[Seen[LayerShapes]]:
        """Yield the functions of which any log says so.

        A recompile does where it names a parameter. The guards of two entries do where they hold
        the same parameter in two shapes. And a size does that an operator, not Python, made a
        constant: the weight that it meets there has that size.
        """
        layered = {_frame(place) for place, row in recompiles.events() if _names_one(row.record)}
        layered |= _with_two_shapes(trees)
        by_operator: defaultdict[Frame, set[str]] = defaultdict(set)
        for place, size in sizes.events():
            if size.record.is_by_operator:
                by_operator[_frame(place)].add(size.record.value)
        layered |= {frame for frame, values in by_operator.items() if len(values) > 1}
        found = set()
        for place, row in recompiles.events():
            record = row.record
            made = cls(function=record.function, file=record.file, line=record.line)
            if _frame(place) in layered and made.definition not in found:
                found.add(made.definition)
                yield row.about(made, [place])


def serves_layers(
    definition: tuple[str, str, int], index: int | None, layers: Table[LayerShapes]
) -> bool:
    """Tell whether a size of an argument is that of a layer: any but the first, the batch."""
    is_known = definition in layers.by(_definition)
    return is_known and index is not None and index > 0


def _definition(record: LayerShapes) -> tuple[str, str, int]:
    return record.definition


def _names_one(record: Recompile) -> bool:
    return any(is_parameter(failure.check) for failure in record.failures)


def _with_two_shapes(trees: Table[GuardTree]) -> set[Frame]:
    shapes: defaultdict[tuple[Frame, str], set[str]] = defaultdict(set)
    entries = Counter(frame for row in trees for frame in {_frame(place) for place in row.places})
    for row in trees:
        if all(entries[_frame(place)] < MIN_SHAPES for place in row.places):
            continue  # most have one entry
        held = [
            sized.groups()
            for guard in row.record.guards
            if _PARAMETER in guard.expression and (sized := SIZED.match(guard.expression))
        ]
        for frame in {_frame(place) for place in row.places} if held else ():
            for source, shape in held:
                shapes[frame, source].add(shape)
    return {frame for (frame, _), sizes in shapes.items() if len(sizes) >= MIN_SHAPES}


def _frame(place: Place) -> Frame:
    return *place.process, place.frame.partition("/")[0]
