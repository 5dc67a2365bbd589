"""What holds for one use of tracelens: where it keeps what it has built, and which packs take part.

The command line says so once, for all that it calls; without it nothing is kept between runs and
every installed pack takes part. It is a context variable: threads and nested uses have their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Context", "adopt", "current", "using"]


@dataclass(frozen=True)
class Context:
    """Where to keep things, and whom to ask."""

    #: Where built parsers and the manifest are kept between runs; None: nowhere. It must be a
    #: folder that nobody else can write to: what is found there is unpickled.
    cache: Path | None = None
    #: Whether packs take part, beside what is built in.
    packs: bool = True
    #: Seconds that the code of a pack may take where it is called: to import a module, to check a
    #: rule, to draw a format; for a log kind, to read an input.
    pack_seconds: float = 60.0


_UNSAID = Context()
_current: ContextVar[Context] = ContextVar("tracelens", default=_UNSAID)


def current() -> Context:
    """Return what holds here."""
    return _current.get()


def adopt(context: Context) -> None:
    """Let ``context`` hold from here on: for a process that works for another one."""
    _current.set(context)


@contextmanager
def using(context: Context) -> Iterator[None]:
    """Let ``context`` hold in a ``with`` block."""
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)
