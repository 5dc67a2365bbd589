"""How what failed was reached: from ``backward()``, by a call of the compiler, by an assertion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracelens.dynamo import user_code
from tracelens.failures.home import line_of
from tracelens.failures.stages import is_compiler, is_generated
from tracelens.late import late
from tracelens.logs.failures import Episode, Raised, Traced

__all__ = ["asserted", "reached"]

#: Where autograd calls what computes gradients.
_ENGINE = late(r"[/\\]torch[/\\]autograd[/\\](?:graph|__init__)\.py$")
#: What AOTAutograd does around the graphs that it makes: it writes results back, and wraps them.
_AROUND = late(r"[/\\]torch[/\\]_functorch[/\\]_aot_autograd[/\\]")
#: Where Dynamo begins to compile a function, and may let go of it.
_CONVERTS = late(r"[/\\]torch[/\\]_dynamo[/\\]convert_frame\.py$")
#: Where Inductor replaces patterns of a graph, and so near the end of a traceback.
_REPLACES = late(r"[/\\]torch[/\\]_inductor[/\\]pattern_matcher\.py$")
MATCHING = 8
#: A statement, without its own words, and how a message begins that Inductor adds to no words.
_ASSERT = late(r"\s{0,16}(assert [^\n#]{1,100}?)(?:\s{0,9}#|\s*$)")
_TARGET = "target: "


def asserted(episode: Episode, index: int) -> dict[str, str]:
    """Return the statement that failed, where an AssertionError has no words of its own."""
    one = episode.items[index]
    if not isinstance(one, Raised) or not any(e.endswith("AssertionError") for e in one.errors):
        return {}
    if one.message.strip() and not one.message.startswith(_TARGET):
        return {}
    for item in reversed(episode.items[:index]):
        if found := _ASSERT.match(line_of(item)):
            return {"asserted": found[1].strip()}
        if isinstance(item, Traced):
            break
    return {}


def reached(episode: Episode) -> dict[str, str]:
    """Return ``backward``, ``around``, ``replaces``; as ``hook`` what the compiler called.

    A function of the program's own that the compiler calls is a pass, a lowering, the backward of
    an operator. Where Dynamo compiles below ``backward()``, it is as everywhere.
    """
    found = {}
    for frames in _tracebacks(episode):
        engine = [n for n, frame in enumerate(frames) if _ENGINE.search(frame.place)]
        if engine and not any(_CONVERTS.search(frame.place) for frame in frames[engine[-1] :]):
            found["backward"] = "yes"
        if _AROUND.search(frames[-1].place):
            found["around"] = "yes"
        if any(_REPLACES.search(frame.place) for frame in frames[-MATCHING:]):
            found["replaces"] = "yes"
        if called := _called(frames):
            found |= {
                "hook": called.function,
                "hook_file": called.place,
                "hook_line": str(called.number),
            }
    return found


def _called(frames: Sequence[Traced]) -> Traced | None:
    """Return the innermost frame, where it is the program's and compiling leads to it."""
    last = frames[-1]
    if is_compiler(last.place) or is_generated(last.place) or user_code.package(last.place):
        return None
    if user_code.distance(last.place, last.function) > 0:
        return None
    return last if any(is_compiler(frame.place) for frame in frames) else None


def _tracebacks(episode: Episode) -> Iterator[list[Traced]]:
    """Yield the frames in front of each exception that was raised."""
    frames: list[Traced] = []
    for item in episode.items:
        if isinstance(item, Traced):
            frames.append(item)
        elif isinstance(item, Raised) and frames:
            yield frames
            frames = []
