"""Which lines of the program an excerpt names: those that were traced, and the innermost one."""

from __future__ import annotations

from tracelens.dynamo import user_code
from tracelens.failures.home import line_of
from tracelens.failures.stages import is_compiler, is_generated
from tracelens.logs._stack import StackFrame
from tracelens.logs.failures import Episode, Raised, Said, Traced

__all__ = ["traced", "user_line"]

#: What stands before the stack of what was traced.
_USER = (
    "from user code",
    "Found from",
    "User stack",
    "User Stack",
    "The following call raised",
    "Original traceback:",
)


def _frames(episode: Episode, frames: list[Traced]) -> list[Traced]:
    """Return the frames of the code that was traced, where the text tells them apart."""
    mark = max(
        (item.at for item in episode.items if line_of(item).strip().startswith(_USER)), default=None
    )
    return [frame for frame in frames if mark is not None and frame.at > mark]


def traced(episode: Episode, frames: list[Traced]) -> tuple[StackFrame, ...]:
    """Return the code that was traced; a line of code stands behind its frame."""
    said = {item.at: item.text for item in episode.items if isinstance(item, Said)}
    return tuple(
        StackFrame(
            file=frame.place,
            line=frame.number,
            function=frame.function,
            code=said.get(frame.at + 1, ""),
        )
        for frame in _frames(episode, frames)
    )


def _is_made(path: str) -> bool:
    """Tell whether it is a file of the compiler, a source tree of torch's too, or written by it."""
    dynamo = "/torch/_dynamo/" in path.replace("\\", "/")
    return dynamo or is_compiler(path) or is_generated(path)


def _ended(episode: Episode, frames: list[Traced]) -> list[Traced]:
    """Return the frames in front of an exception; those of a traceback without its end are not."""
    last = max((item.at for item in episode.items if isinstance(item, Raised)), default=None)
    return [frame for frame in frames if last is not None and frame.at < last] or frames


def user_line(episode: Episode, frames: list[Traced]) -> StackFrame | None:
    """Return the innermost line of the program: of the code that was traced, else of the call."""
    for group in (_frames(episode, frames), _ended(episode, frames)):
        stack = [
            StackFrame(file=frame.place, line=frame.number, function=frame.function)
            for frame in group
            if not _is_made(frame.place)
        ]
        best = user_code.best(stack)
        if best is not None and user_code.distance(best.file, best.function) < 2:
            return best
    return None
