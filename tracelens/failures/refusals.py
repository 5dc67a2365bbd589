"""What torch, and what runs on it, refuses in words of its own: ``refusals.toml``, read.

Nothing there is about how the compiler works; most of it comes without compiling, too.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tracelens.late import late

__all__ = ["Refusal", "is_own", "of_nccl", "refusal", "refusals"]

#: Characters for which a ``*`` in words may stand.
GAP = 200
#: Where NCCL says what ``refusals.toml`` has under ``nccl``: others name a last error, too.
_OF_NCCL = ("NCCL WARN*{}", "NCCL error*Last error:*{}", "nccl*Error:*Last error:*{}")
_BLANKS = late(r"[\s│┃║]+")


class Refusal(NamedTuple):
    """Words of a message, what they mean, and what to do."""

    name: str
    #: As people see them, any of them; then without blanks, as parts that follow each other.
    shown: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    what: str
    text: str
    code: str | None = None
    env: str | None = None
    #: Whose it is.
    of: Literal["program", "machine", "tracer", "kernel", "library"] = "program"
    #: Whether tracing raises it, too: what was compiled and raises it then is not the program's.
    traced: bool = False
    #: Words that other programs print, too; they are among the others.
    shared: frozenset[tuple[str, ...]] = frozenset()


@cache
def refusals() -> tuple[Refusal, ...]:
    """Return all of them; the first one that fits is meant."""
    text = Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8")
    return tuple(_made(name, **entry) for name, entry in tomllib.loads(text).items())


def _made(
    name: str,
    words: Sequence[str] = (),
    shared: Sequence[str] = (),
    nccl: Sequence[str] = (),
    **more: Any,
) -> Refusal:
    shared = (*shared, *(form.format(said) for said in nccl for form in _OF_NCCL))
    shown = (*words, *shared)
    others = frozenset(map(_parts, shared))
    return Refusal(name, shown, tuple(map(_parts, shown)), shared=others, **more)


@lru_cache(maxsize=64)
def refusal(text: str) -> Refusal | None:
    """Return what is refused in the message ``text``; None where nothing known is."""
    return next(_found(text), None)


def of_nccl(text: str) -> Refusal | None:
    """Return what is known of a warning, or of the last error, of NCCL's."""
    return next((one for one in _found(text) if one.name.startswith("nccl-")), None)


@lru_cache(maxsize=64)
def is_own(text: str) -> bool:
    """Tell whether the message ``text`` has words of any of them that nobody else prints."""
    squeezed = _BLANKS.sub("", text)
    return any(
        _has(squeezed, parts)
        for one in refusals()
        for parts in one.words
        if parts not in one.shared
    )


def _parts(words: str) -> tuple[str, ...]:
    return tuple(_BLANKS.sub("", words).split("*"))


def _found(text: str) -> Iterator[Refusal]:
    squeezed = _BLANKS.sub("", text)
    for one in refusals():
        if any(_has(squeezed, parts) for parts in one.words):
            yield one


def _has(text: str, parts: tuple[str, ...]) -> bool:
    """Tell whether the parts stand in the text, one not far behind the other."""
    at = text.find(parts[0])
    while at >= 0:
        if _follow(text, at + len(parts[0]), parts[1:]):
            return True
        at = text.find(parts[0], at + 1)
    return False


def _follow(text: str, at: int, parts: tuple[str, ...]) -> bool:
    for part in parts:
        found = text.find(part, at, at + GAP + len(part))
        if found < 0:
            return False
        at = found + len(part)
    return True
