"""Which functions a graph break made Dynamo give up, and whether the model itself is one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite
from tracelens.frames.lost_frames import LostFrames
from tracelens.report.stories import Story, lost_model
from tracelens.rules.gbr._site_rule import Line

__all__ = ["first_of_all", "loops", "lost_layers", "lost_of"]


def first_of_all(found: Iterable[BreakSite]) -> bool:
    """Whether what was given up is the first function of the process that was compiled."""
    return any(place.frame.startswith("0/") for site in found for place, _ in site.events)


def lost_layers(package: str, lost_in: Iterable[str]) -> Iterator[Story]:
    """Tell that layers of ``package`` are compiled one by one, since the program's model is lost.

    The break in one of them shows that the model is made of such layers.
    """
    if package and any(file and not user_code.package(file) for file in lost_in):
        yield lost_model(package)


def loops(site: BreakSite) -> bool:
    """Whether the graph breaks in a loop."""
    return any(cause.family == "loop" for _, seen in site.events for cause in seen.record.causes)


def lost_of(site: BreakSite, codes: LostFrames) -> list[Line]:
    """Return the functions that one break made Dynamo give up, the outermost first.

    Torch names them where the break is in a loop; elsewhere it is the one that was compiled then.
    """
    named = [
        Line(file=cause.context.file, line=cause.context.line, function=cause.context.function)
        for _, seen in site.events
        for cause in seen.record.causes[1:]
        if cause.family == "loop" and cause.context is not None
    ]
    named = named or _named(site)
    if named:
        return list(dict.fromkeys(named))
    return [Line(file=one.file, line=one.line, function=one.function) for one in codes.of(site)]


def _named(site: BreakSite) -> list[Line]:
    """Return the functions that records name since torch 2.11; torch's own where no other is."""
    found = [
        Line(file=one.file, line=one.line, function=one.function)
        for _, seen in site.events
        if (one := seen.record.skipped) is not None
    ]
    return [one for one in found if user_code.distance(one.file, one.function) == 0] or found
