"""What a program's own exception wraps: ``raise RuntimeError("batch 3 failed") from error``."""

from __future__ import annotations

from tracelens.failures.home import line_of
from tracelens.failures.stages import is_compiler, is_generated
from tracelens.logs.failures import Episode, Raised, Said, Traced

__all__ = ["unwrapped"]

_CHAINED = ("The above exception was the direct", "During handling of the above exception")


def unwrapped(episode: Episode) -> Episode:
    """Return an excerpt without the exceptions that were raised because of one of the compiler.

    Their last frame is a ``raise`` outside of torch. What fails in the code that handles an
    exception, in place of what failed before, is none of them.
    """
    marks = [n for n, item in enumerate(episode.items) if line_of(item).startswith(_CHAINED)]
    for before, at in reversed(list(zip([0, *marks], marks, strict=False))):
        below, above = episode.items[before:at], episode.items[at:]
        if not _raises(above) or not any(isinstance(item, Raised) for item in below):
            break
        if any(isinstance(item, Traced) and _is_torchs(item) for item in below):
            return episode.model_copy(update={"items": episode.items[:at]})
    return episode


def _raises(above: tuple[object, ...]) -> bool:
    """Tell whether the last line of a traceback is a ``raise`` of a program or another library."""
    frames = [item for item in above if isinstance(item, Traced)]
    if not frames or _is_torchs(frames[-1]) or "/torch/" in frames[-1].place.replace("\\", "/"):
        return False
    code = [i.text for i in above if isinstance(i, Said) and i.at == frames[-1].at + 1]
    return any(text.strip().startswith("raise ") for text in code)


def _is_torchs(frame: Traced) -> bool:
    return is_compiler(frame.place) or is_generated(frame.place)
