"""Whether Triton rejects the arguments that Inductor gives it: they are of different versions."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.late import late
from tracelens.logs.failures import Episode, Raised, Said, Traced

__all__ = ["misfits"]

#: How a call that does not fit ends, and where.
_MISFITS = frozenset({"AssertionError", "AttributeError", "KeyError", "TypeError", "ImportError"})
_OF_TRITON = late(r"(?:^|/)triton/(?:compiler|runtime|backends)/")
_OF_INDUCTOR = late(r"(?:^|/)torch/_inductor/")
#: What takes apart the arguments of whoever makes an object: the caller may be cut off.
_TAKES = "__init__"
#: The caller and the callee.
_PAIR = 2
#: Where another traceback begins.
_TRACEBACK = "Traceback (most recent call last)"


def misfits(episode: Episode) -> bool:
    """Tell whether Triton failed where Inductor calls it: each torch works with one Triton.

    Errors in a kernel's code are Triton's own ``CompilationError``.
    """
    whole = _places([one for one in episode.items if isinstance(one, Traced)])
    of_inductor = any(map(_OF_INDUCTOR.search, whole))
    return any(_fits(frames, of_inductor=of_inductor) for frames in _ways(episode))


def _ways(episode: Episode) -> Iterator[list[Traced]]:
    """Yield the frames above each exception of a call that does not fit."""
    frames: list[Traced] = []
    is_over = False
    for item in episode.items:
        if isinstance(item, Traced):
            frames = [item] if is_over else [*frames, item]
            is_over = False
        elif isinstance(item, Raised):
            if not item.logged and item.errors[-1].rpartition(".")[2] in _MISFITS:
                yield frames
            is_over = True
        elif isinstance(item, Said) and _TRACEBACK in item.text:
            frames = []


def _fits(frames: list[Traced], *, of_inductor: bool) -> bool:
    *before, callee = ["", *_places(frames)[-_PAIR:]]
    if _OF_TRITON.search(callee) is None:
        return False
    if before[-1]:
        return _OF_INDUCTOR.search(before[-1]) is not None
    return of_inductor and frames[-1].function == _TAKES


def _places(frames: list[Traced]) -> list[str]:
    return [frame.place.replace("\\", "/") for frame in frames]
