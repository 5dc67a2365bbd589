"""Which lines of the program an excerpt names: those that were traced, and the innermost one."""

from __future__ import annotations

from tracelens.dynamo import user_code
from tracelens.failures.home import line_of
from tracelens.failures.stages import is_compiler, is_generated
from tracelens.logs._stack import StackFrame
from tracelens.logs.failures import Episode, Raised, Said, Traced

__all__ = ["above", "is_twice", "own_facts", "traced", "user_line"]

#: What stands before the stack of what was traced.
_USER = (
    "from user code",
    "Found from",
    "User stack",
    "User Stack",
    "The following call raised",
    "Original traceback:",
)

#: Causes for which a function may be left out of what is compiled.
_LEFT_OUT = frozenset(
    {
        "fake-tensors",
        "internal-compiler",
        "internal-dynamo",
        "internal-triton",
        "lost-size",
        "triton-passes",
        "unknown",
    }
)
_TRACEBACK = "Traceback (most recent call last)"
#: Functions that make an object, and those that call a module of torch.
_MAKES = frozenset({"__init__", "__new__"})
_CALLS = frozenset({"_call_impl", "forward"})


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
        if one := _nearest(group):
            return StackFrame(file=one.place, line=one.number, function=one.function)
    return None


def above(cause: str, episode: Episode, frames: list[Traced]) -> dict[str, str]:
    """Return ``above`` where the program's line only leads to compiled code, or hosts the program.

    Dynamo's wrapper, or the compiler, stands in front of every frame of compiled code. What a
    class of tensors does instead of an operator is called by torch, whatever was copied.
    """
    if cause not in _LEFT_OUT:
        return {}
    one = None if _nearest(_frames(episode, frames)) else _nearest(_ended(episode, frames))
    if one is None or one.function.startswith("__torch_"):
        return {}
    begins = [item.at for item in episode.items if item.at < one.at and _TRACEBACK in line_of(item)]
    first = max(begins, default=-1)
    inside = any(first < frame.at < one.at and _is_made(frame.place) for frame in frames)
    return {} if inside else {"above": "yes"}


def _nearest(group: list[Traced]) -> Traced | None:
    """Return the frame of a group that is the program's innermost one; None where none is."""
    shown = [frame for frame in group if not _is_made(frame.place)]
    stack = [
        StackFrame(file=frame.place, line=frame.number, function=frame.function) for frame in shown
    ]
    best = user_code.best(stack)
    if best is None or user_code.distance(best.file, best.function) >= 2:
        return None
    return next(frame for frame, line in zip(shown, stack, strict=True) if line is best)


def own_facts(episode: Episode, frames: list[Traced]) -> dict[str, str]:
    """Return what is to be known of an error outside of compiled code.

    Of one in a package: the program's line that leads there, and what that is doing.
    """
    loads = any("/torch/utils/data/_utils/worker" in one.place.replace("\\", "/") for one in frames)
    found = {"worker": "yes"} if loads else {}
    ended = _ended(episode, frames)
    last = ended[-1].at if ended else 0
    starts = [one.at for one in episode.items if one.at < last and _TRACEBACK in line_of(one)]
    behind = [one for one in ended if one.at > max(starts, default=-1)]
    at = max((n for n, one in enumerate(behind) if _is_programs(one)), default=len(behind))
    inner = behind[at + 1 :]
    if not any(user_code.package(one.place) for one in inner):
        return found
    names = {one.function for one in inner}
    does = "imports" if "<module>" in names else "makes"
    plain = does == "makes" and not (_MAKES & names and not _CALLS & names)
    found |= {} if plain else {"does": does}
    return found | {"from_file": behind[at].place, "from_line": str(behind[at].number)}


def _is_programs(frame: Traced) -> bool:
    """Tell whether it is a line of the program itself, and of no package."""
    packaged = "-packages/" in frame.place.replace("\\", "/")
    return not packaged and user_code.distance(frame.place, frame.function) == 0


def is_twice(frame: Traced) -> bool:
    """Tell whether autograd runs a compiled backward so that it can be differentiated itself."""
    wraps = frame.place.replace("\\", "/").endswith("_aot_autograd/runtime_wrappers.py")
    return wraps and frame.function in {"forward", "_double_backward"}
