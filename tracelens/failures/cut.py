"""Tracebacks that end before their error, as they are when the last lines were not copied."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracelens.failures.home import Item, is_at_home, line_of
from tracelens.failures.messages import is_break
from tracelens.failures.stages import is_compiler
from tracelens.failures.words import is_error
from tracelens.late import late
from tracelens.logs._own_errors import GENERIC_ERRORS
from tracelens.logs.failures import Episode, Raised, Said, Traced
from tracelens.logs.fragments import EXPLAINS, named_break

__all__ = [
    "explained",
    "function_cause",
    "is_cut",
    "is_end",
    "last_words",
    "named",
    "raising",
    "without_stub",
]

#: What a cut text is about where no name in it tells.
CUT = "cut"
#: Lines of the input after the excerpt: where there are more, somebody went on.
MAX_AFTER = 3
#: Frames of the compiler that are no accident.
MIN_FRAMES = 2
#: A line of source that raises, marked as IPython and rich do; the name above IPython's traceback.
_RAISES = late(
    r"[\s│]*+(?:(?:-{2,4}>|❱)\s{0,4}\d{1,6}\s)?[\s│]*+"
    r"raise (?P<name>(?:\w{1,40}\.){0,4}[A-Z]\w{2,80})\b"
    r"|(?P<head>[A-Z]\w{2,80})\s{2,80}Traceback \(most recent call last\)$"
)
#: The line of source that IPython and rich point at.
_POINTS = late(r"\s{0,8}(?:-{2,4}>|❱)\s{0,4}\d{1,6}\s")
#: How Dynamo raises an error anew.
_REMOVES = "raise e.remove_dynamo_frames()"
#: Exceptions that say nothing by their names.
_BASES = frozenset({"AssertionError", "Exception", "RuntimeError", "TypeError", "ValueError"})
#: Exceptions of torch's compiler; the generic ones only where something else tells of it.
_COMPILES = frozenset(
    {
        "BackendCompilerFailed",
        "InductorError",
        "InternalTorchDynamoError",
        "LoweringException",
        "TorchRuntimeError",
        "Unsupported",
        "UserError",
    }
)
#: Functions in which only one thing can fail.
_OF_FUNCTION = {"check_compiler_exist_windows": "no-msvc", "get_first_attr": "triton-mismatch"}
#: The last line, where the text ends within the name of the error, or of the backend.
_STUB = late(
    r"(?:torch(?:\.\w{1,40}){1,4}\.(?P<name>\w{1,40})|BackendCompilerFailed: backend='\w{0,40})$"
)
#: A dump of the stacks of a process that is alive, not of an error.
_DUMPED = ("most recent call first", "Stack (most recent call last)")
#: How a program ends that somebody stopped.
_STOPPED = late(r"\s*(?:KeyboardInterrupt|SystemExit)\b")
#: What torch writes once a compilation has failed, and where every call of compiled code passes.
_MINIFIES = "Writing minified repro to"
_ENTERS = late(r"(?:^|[/\\])torch[/\\]_dynamo[/\\]")
_IN_TORCH = late(r"(?:^|[/\\])torch[/\\]")
_WORD = late(r"\w")
#: What lists put around the name of a graph break.
_DRESS = " -*>`#'\"\t"
_SUPPRESS = "You can suppress this exception"
_TRACEBACK = "Traceback (most recent call last)"


def without_stub(episode: Episode) -> Episode:
    """Return ``episode`` without a last line of which only the beginning was copied."""
    *items, last = episode.items
    stub = _STUB.match(line_of(last).strip(": "))
    whole = _COMPILES if stub and stub["name"] else ()
    if not items or not stub or (whole and not any(_is_begun(name, stub) for name in whole)):
        return episode
    return episode.model_copy(update={"items": tuple(items)})


def _is_begun(name: str, stub: re.Match[str]) -> bool:
    return name.startswith(stub["name"]) and name != stub["name"]


def last_words(lines: Sequence[str]) -> int:
    """Return the last line with a word in it: what a post is fenced by comes after the text."""
    return next((n for n in range(len(lines) - 1, 0, -1) if _WORD.search(lines[n])), 0)


def raising(episode: Episode) -> str:
    """Return the name of the exception that the last line of source raises; empty without one."""
    names = [
        match["name"] or match["head"]
        for item in episode.items
        if isinstance(item, Said) and not item.logged and (match := _RAISES.match(item.text))
    ]
    telling = [name for name in names if name.rpartition(".")[2] not in _BASES]
    return (telling or names or [""])[-1]


def function_cause(frames: Sequence[Traced]) -> str:
    """Return what the innermost function can only fail of; what is cut where it tells nothing."""
    return _OF_FUNCTION.get(frames[-1].function, CUT) if frames else CUT


def explained(episode: Episode, at: int) -> int:
    """Return the item that names the break which item ``at`` explains; ``at`` where none does."""
    if at and line_of(episode.items[at]).lstrip().startswith(EXPLAINS):
        name = line_of(episode.items[at - 1]).strip(_DRESS)
        return at - 1 if is_break(name) else at
    return at


def named(first: str) -> list[str]:
    """Return the first lines of a message: what an explanation alone is of comes before it."""
    if not first.startswith(EXPLAINS):
        return [bare if is_break(bare := first.strip(_DRESS)) else first]
    return [name, first] if (name := named_break(first)) else [first.removeprefix(EXPLAINS)]


def _compiles(path: str) -> bool:
    """Tell whether Dynamo compiles a frame there: its wrappers do no more than call."""
    return path.replace("\\", "/").endswith("/torch/_dynamo/convert_frame.py")


def _is_alone(episode: Episode, frames: Sequence[Traced]) -> bool:
    """Tell whether the frames are those of an error, not of a record of torch's log.

    Where torch logged anything else, the traceback begins with its own first line.
    """
    if not episode.torch:
        return True
    if episode.leaves_out:
        return all(frame.logged for frame in frames)
    begins = next((item.at for item in episode.items if _begins(item)), None)
    return begins is not None and all(frame.at > begins for frame in frames if not frame.logged)


def _begins(item: Item) -> bool:
    """Tell whether a traceback begins there that torch did not write to its log."""
    return isinstance(item, Said) and not item.logged and _TRACEBACK in item.text


def is_end(episode: Episode, raised: Sequence[Raised]) -> bool:
    """Tell whether there is no more than what torch prints below its error."""
    said = [item for item in episode.items if isinstance(item, Said) and not item.logged]
    end = next((n for n, item in enumerate(said) if _SUPPRESS in item.text), -1)
    if raised or end < 0:
        return False
    head = (item.text for item in said[:end] if not item.text.startswith((" ", "Set TORCH")))
    return not (episode.short and any(map(is_error, head)))


def is_cut(episode: Episode, raised: Sequence[Raised], frames: Sequence[Traced]) -> bool:
    """Tell whether all there is of an error is the way to it, through the compiler.

    What goes on after it was caught.
    """
    if raised or (episode.after or 0) > MAX_AFTER or not _is_alone(episode, frames):
        return False
    said = [item.text for item in episode.items if isinstance(item, Said)]
    if any(mark in text for text in said for mark in _DUMPED) or any(map(_STOPPED.match, said)):
        return False
    if episode.torch and not episode.leaves_out:
        frames = [frame for frame in frames if not frame.logged]
    compiler = [is_compiler(frame.place) or _compiles(frame.place) for frame in frames]
    if raising(episode):
        name = raising(episode).rpartition(".")[2]
        if name in GENERIC_ERRORS:
            return any(compiler) or is_at_home(episode)
        return any(compiler) or "Dynamo" in name or name in _COMPILES
    shown = any(_POINTS.match(text) or _REMOVES in text for text in said)
    torchs = [_IN_TORCH.search(frame.place) is not None for frame in frames]
    inner = all(torchs[-2:]) or (any(torchs[-1:]) and 2 * sum(torchs) > len(torchs))
    least = 1 if shown else MIN_FRAMES + 1
    alone = episode.short and not episode.torch and len(frames) >= least and inner
    failed = any(_MINIFIES in text for text in said) and any(map(_enters, frames))
    least = 1 if shown else MIN_FRAMES
    return alone or failed or (any(compiler[-2:]) and sum(compiler) >= least)


def _enters(frame: Traced) -> bool:
    return _ENTERS.search(frame.place) is not None
