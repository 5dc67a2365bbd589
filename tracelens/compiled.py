"""Compile patterns once for each user, and not in each run: a seventh of a small log's time.

Python compiles a pattern by code that is written in Python, and pickles only its text. So the words
of the machine that runs it are kept, for this very Python and this version of ours, in the folder
where built parsers are. There is no public way to them; where the way there is is another one, or
what was kept is refused (Python checks it), the pattern is compiled as ever.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
from array import array
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, AnyStr

import msgspec

from tracelens import context
from tracelens.version import __version__

__all__ = ["compiled", "keep"]

#: Patterns that are kept; the package and its grammars have some 2,000, installed packs may add.
MOST = 10_000


class _Words(msgspec.Struct, frozen=True, array_like=True):
    """What Python makes of a pattern."""

    flags: int
    #: The words of the machine that runs it, in the order of bytes here.
    code: bytes
    groups: dict[str, int]
    #: The groups' names by number, the first of which, the whole, has none.
    names: tuple[str | None, ...]


_READ = msgspec.msgpack.Decoder(_Words)


class _Store:
    """The patterns that are kept in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_new = False
        self._made: dict[str, re.Pattern[Any]] = {}
        try:
            self._held = msgspec.msgpack.decode(path.read_bytes(), type=dict[str, msgspec.Raw])
        except (OSError, msgspec.DecodeError):
            self._held = {}

    def compiled(self, written: AnyStr, flags: int) -> re.Pattern[AnyStr]:
        """Return the pattern, by what is kept of it, or kept from now on."""
        text: str | bytes = written
        key = f"{flags}t{text}" if isinstance(text, str) else f"{flags}b{text.decode('latin-1')}"
        if (made := self._made.get(key)) is None:
            made = self._made[key] = self._kept(key, written) or self._new(key, written, flags)
        return made

    def keep(self) -> None:
        """Write what is new; it is no loss when that fails."""
        if not self._is_new or len(self._held) > MOST:
            return
        self._is_new = False
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        with contextlib.suppress(OSError, UnicodeEncodeError):  # a lone surrogate in a pattern
            draft.write_bytes(msgspec.msgpack.encode(self._held))
            draft.replace(self._path)

    def _kept(self, key: str, written: AnyStr) -> re.Pattern[AnyStr] | None:
        if (held := self._held.get(key)) is None:
            return None
        try:
            return _made_of(written, _READ.decode(held))
        except (msgspec.DecodeError, RuntimeError, TypeError, ValueError, OverflowError):
            return None

    def _new(self, key: str, written: AnyStr, flags: int) -> re.Pattern[AnyStr]:
        words = _words_of(written, flags)
        self._held[key] = msgspec.Raw(msgspec.msgpack.encode(words))
        self._is_new = True
        return _made_of(written, words)


def compiled(written: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return ``re.compile(written, flags)``; for patterns of ours, not for those made of a log.

    Raises:
        re.error: It is no pattern.
    """
    folder = context.current().cache
    if folder is None or not _is_known():
        return re.compile(written, flags)
    return _store(folder).compiled(written, int(flags))


def keep() -> None:
    """Keep what this run has compiled for the next one."""
    folder = context.current().cache
    if folder is not None and _is_known():
        _store(folder).keep()


@cache
def _store(folder: Path) -> _Store:
    made_by = f"{__version__}\0{sys.version}\0{sys.byteorder}"
    return _Store(folder / f"patterns-{hashlib.sha256(made_by.encode()).hexdigest()[:16]}.bin")


def _words_of(written: Any, flags: int) -> _Words:
    parser, compiler = import_module("re._parser"), import_module("re._compiler")
    parsed = parser.parse(written, flags)
    state = parsed.state
    names: list[str | None] = [None] * state.groups
    for name, number in state.groupdict.items():
        names[number] = name
    code = array("I", compiler._code(parsed, flags)).tobytes()
    return _Words(int(flags | state.flags), code, dict(state.groupdict), tuple(names))


def _made_of(written: AnyStr, words: _Words) -> re.Pattern[AnyStr]:
    code = array("I", words.code).tolist()
    last = len(words.names) - 1
    made: re.Pattern[AnyStr] = import_module("_sre").compile(
        written, words.flags, code, last, words.groups, words.names
    )
    return made


@cache
def _is_known() -> bool:
    """Whether this Python makes patterns in the way that is known here."""
    try:
        return _is_alike(r"(?P<a>[a-f]\d+)|x?", 0) and _is_alike(rb"\w(?i:b|c)(d)\1", re.DOTALL)
    except Exception:  # whatever it is: it is another way
        return False


def _is_alike(written: AnyStr, flags: int) -> bool:
    return _made_of(written, _words_of(written, int(flags))) == re.compile(written, flags)
