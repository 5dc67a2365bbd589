"""Objects of the program that raise when torch looks at them to make a guard."""

from __future__ import annotations

import keyword

from tracelens.failures.home import line_of
from tracelens.failures.stages import is_compiler
from tracelens.late import late
from tracelens.logs.failures import Episode, Traced

__all__ = ["guarding"]

_GUARDS = late(r"[/\\]torch[/\\]_dynamo[/\\]guards\.py$")
#: Where torch evaluates the name that a guard is on, as an expression of Python.
_NAMING = late(r"[/\\]torch[/\\]_guards\.py$")
_NAME = late(r'Name: "?L\[\'(\w{1,200})\'\]([^"\n]{0,400})"?$')
#: How a module holds its parts: ``._modules['a']``.
_PART = late(r"\._(?:modules|buffers|parameters)\['(\w{1,200})'\]")


def guarding(cause: str, episode: Episode, frames: list[Traced]) -> dict[str, str]:
    """Return ``guard`` where a guard called what raised, and what it is on where that is told.

    Torch calls it itself then, not the code that it traces: leaving it out changes nothing. Where
    torch fails by itself, on a name that is no expression, nothing of the program is called:
    ``keyword`` is then the part of the name that Python does not take.
    """
    if cause != "internal-dynamo" or not frames or is_compiler(frames[-1].place):
        return {}
    asked = next(one for one in (*reversed(frames), None) if one is None or is_compiler(one.place))
    if asked is None or not _GUARDS.search(asked.place):
        return {}
    names = [found for one in episode.items if (found := _NAME.search(line_of(one).strip()))]
    on = names[-1][1] + _PART.sub(r".\1", names[-1][2]) if names else ""
    told = {"guard_on": on} if on else {}
    if any(one.place == "<string>" for one in frames[frames.index(asked) :]):
        return told  # the name itself, of which a part is not known there
    if not _NAMING.search(frames[-1].place):
        return {"guard": asked.function} | told
    taken = (part for part in on.split(".") if keyword.iskeyword(part))
    return told | ({"keyword": word} if (word := next(taken, "")) else {})
