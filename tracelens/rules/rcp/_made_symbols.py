"""Of which functions sizes became symbols, and which are held static."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from tracelens.evidence import Place, Table

if TYPE_CHECKING:
    from tracelens.dynamo.recompile_history import Series, Step
    from tracelens.dynamo.settings import Setting
    from tracelens.logs.dynamic import CreateEnv, CreateSymbol

__all__ = ["Made"]

#: What torch.compile(dynamic=False) sets while it compiles.
_AUTOMATIC = "torch._dynamo.config.automatic_dynamic_shapes"
#: A part of a module: the sizes of those are constants whatever the program asks for.
_OF_MODULE = re.compile(r"self\b|.*\._(?:parameters|buffers|modules)\b")

#: A function in one process: the writer, and ``0`` of ``0/1``.
_Frame = tuple[str, ...]


class Made(NamedTuple):
    """What a log tells of the symbols that its compilations made."""

    #: Functions with symbols, and those whose compilations the log tells of.
    frames: frozenset[_Frame]
    watched: frozenset[_Frame]
    #: Whether all configurations in the log are without automatic dynamic shapes.
    is_off: bool

    @classmethod
    def of(
        cls,
        symbols: Table[CreateSymbol],
        environments: Table[CreateEnv],
        settings: Table[Setting],
    ) -> Made:
        """Gather what the log says."""
        told = {row.record.value for row in settings if row.record.name == _AUTOMATIC}
        return cls(
            frozenset(_frame(place) for place, _ in symbols.events()),
            frozenset(_frame(place) for place, _ in environments.events()),
            told == {"False"},
        )

    def are_of(self, group: Iterable[Series]) -> bool:
        """Whether a size or a number of these functions became a symbol."""
        return not self.frames.isdisjoint(_frames(group))

    def none_of(self, steps: Iterable[Step]) -> bool:
        """Whether the log tells of what was compiled in these steps, and of no symbol in it."""
        frames = {_frame(step.place) for step in steps}
        return self.watched.issuperset(frames) and self.frames.isdisjoint(frames)

    def holds_static(self, group: list[Series]) -> bool:
        """Whether no size of these functions became one, although it changed: by the log itself."""
        if any(_OF_MODULE.match(str(values.subject[-2])) for values in group):
            return False
        return (self.is_off and not self.frames) or self.watched.issuperset(_frames(group))


def _frames(group: Iterable[Series]) -> set[_Frame]:
    return {_frame(step.place) for values in group for step in values.steps}


def _frame(place: Place) -> _Frame:
    return *place.process, place.frame.partition("/")[0]
