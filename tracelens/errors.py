"""What can go wrong, and whose fault it is.

* TracelensError
  x UsageError          the command line or the configuration (exit 2)
  x SourceError         the input cannot be read, or holds nothing we know (exit 2)
  x PluginError         a rule, log kind or renderer is broken; names its package (exit 3)

A text that a grammar refuses is not an error: it becomes an ``Unread`` entry of the report.
A rule that raises is not an error either: its verdict is ``crashed`` and the others still run.
What a pack raises, ``SystemExit`` too, ends nothing but what it was asked for: :func:`blame`.
"""

from __future__ import annotations

import opcode
import sys
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from tracelens.late import late

__all__ = ["PluginError", "SourceError", "TracelensError", "UsageError", "blame", "closest"]

#: A code with too many or too few zeros: ``ONE01``.
_CODE = late(r"([A-Za-z]{3})[-_]?(\d{1,6})")
#: Packages whose lines tell the author of a pack nothing.
_NOBODYS = frozenset({"tracelens", "pydantic", "pydantic_core", "msgspec", "lark", "jinja2", ""})
_RAISE = opcode.opmap["RAISE_VARARGS"]


class TracelensError(Exception):
    """Base of every exception that tracelens raises on purpose.

    ``str(error)`` reads ``WHERE: what.``; ``hint`` says what to do about it.
    """

    exit_code = 3

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(TracelensError):
    """The command line or ``[tool.tracelens]`` asks for something that does not exist."""

    exit_code = 2


class SourceError(TracelensError):
    """The input cannot be read, or nothing in it is known to tracelens."""

    exit_code = 2


class PluginError(TracelensError):
    """An installed rule pack, log kind or renderer is broken."""


def closest(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a hint that names the ``known`` words nearest to ``word``; else ``otherwise``."""
    cases = {name.lower(): name for name in known}
    if (code := _CODE.fullmatch(word)) and (same := f"{code[1]}{int(code[2]):03}".lower()) in cases:
        return f"did you mean {cases[same]}?"
    import difflib  # noqa: PLC0415 -- of messages only

    near = difflib.get_close_matches(word.lower(), cases, n=3)
    names = [cases[name] for name in near]
    rest = f"{', '.join(names[:-1])} or " if names[1:] else ""
    return f"did you mean {rest}{names[-1]}?" if near else otherwise


def _is_a_packs(step: TracebackType) -> bool:
    """Tell whether a step of a traceback is in code of a pack, and not below or above it."""
    home = step.tb_frame.f_globals.get("__name__", "").partition(".")[0]
    return home not in _NOBODYS and home not in sys.stdlib_module_names


def blame(error: BaseException) -> str:
    """Return in one line what somebody's code raised, and where; Ctrl-C goes on its way.

    Raises:
        KeyboardInterrupt: The user pressed Ctrl-C. Nobody did where code says ``raise``.
    """
    last = error.__traceback__
    theirs_last = None
    while last is not None and last.tb_next is not None:
        theirs_last = last if _is_a_packs(last) else theirs_last
        last = last.tb_next
    code = last.tb_frame.f_code if last is not None else None
    if isinstance(error, KeyboardInterrupt):
        theirs = last is not None and code is not None and code.co_code[last.tb_lasti] == _RAISE
        home = last.tb_frame.f_globals.get("__name__", "") if last is not None else ""
        if not theirs or home.startswith("tracelens."):  # ours is a handler of signals
            raise error
    if isinstance(error, TracelensError):
        return str(error)
    what = " ".join(f"{type(error).__name__}: {error}".removesuffix(": ").split())
    if last is not None and theirs_last is not None and not _is_a_packs(last):
        last, code = theirs_last, theirs_last.tb_frame.f_code  # and not a library that it called
    if code is None or last is None:
        return what
    return f"{what} ({Path(code.co_filename).name}, line {last.tb_lineno})"
