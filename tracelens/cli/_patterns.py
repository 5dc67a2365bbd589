"""Compiled patterns, kept between runs: to compile some 400 is a fifth of a small log's time.

What Python makes of a pattern is a list of numbers, which only the pattern, its flags and the
version of Python determine. The lists are kept in the user's cache folder. One is kept only where
it makes the very pattern that :func:`re.compile` makes, and nothing else is done where this Python
makes patterns otherwise.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

__all__ = ["kept_patterns"]

#: A pattern and its flags, and what makes it: flags, numbers, groups, names, names by group.
Key: TypeAlias = tuple[str | bytes, int]
Made: TypeAlias = tuple[int, bytes, int, dict[str, int], tuple[str | None, ...]]

#: More than ours, those of Python and of a few packs; beyond it they are kept anew.
MAX_KEPT = 3_000
#: Modules whose functions put patterns together of words that stand in modules and grammars.
CONSTANT = {"lark.lexer", "tracelens.render._kinds", "tracelens.source.kinds"}
COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
#: The flag of code that is neither a module's nor a class's.
OF_FUNCTION = 1


@contextlib.contextmanager
def kept_patterns(folder: Path | None) -> Iterator[None]:
    """Make patterns of what is kept in ``folder`` meanwhile, and keep there what was missing."""
    compiler: Any = getattr(re, "_compiler", None)
    if folder is None or not hasattr(compiler, "compile") or not hasattr(compiler, "_sre"):
        yield
        return
    path = folder / f"patterns-{hashlib.sha256(sys.version.encode()).hexdigest()[:16]}.marshal"
    kept = _read(path)
    missing: dict[Key, re.Pattern[Any]] = {}
    plainly = compiler.compile

    def compiled(pattern: Any, flags: int = 0) -> re.Pattern[Any]:
        is_text = isinstance(pattern, str | bytes)
        if is_text and (found := kept.get((pattern, flags))):
            with contextlib.suppress(RuntimeError, TypeError, ValueError):  # it is damaged
                return _pattern(pattern, found)
        made: re.Pattern[Any] = plainly(pattern, flags)
        if is_text and _lasts(sys._getframe(1)):
            missing[pattern, flags] = made
        return made

    compiler.compile = compiled
    try:
        yield
    finally:
        compiler.compile = plainly
        with contextlib.suppress(Exception):  # it is no loss
            _write(path, kept, missing)


def _lasts(frame: FrameType | None) -> bool:
    """Tell whether the pattern is written in a module: others hold words of the user's."""
    while frame is not None and _is_between(frame):
        frame = frame.f_back
    if frame is None:
        return False
    in_function = frame.f_code.co_flags & OF_FUNCTION
    return not in_function or frame.f_globals.get("__name__") in CONSTANT


def _is_between(frame: FrameType) -> bool:
    """Tell whether it stands between who asks for the pattern and us."""
    return frame.f_globals.get("__name__") == "re" or frame.f_code.co_name in COMPREHENSIONS


def _read(path: Path) -> dict[Key, Made]:
    try:
        kept = marshal.loads(path.read_bytes())  # noqa: S302 -- in a folder of the user's alone
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _write(path: Path, kept: dict[Key, Made], missing: dict[Key, re.Pattern[Any]]) -> None:
    made = {key: _made(*key) for key in missing}
    same = {key: one for key, one in made.items() if _pattern(key[0], one) == missing[key]}
    if not same:
        return
    if len(kept) + len(same) > MAX_KEPT:
        kept = {}
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_bytes(marshal.dumps(kept | same))
    draft.replace(path)


def _pattern(pattern: str | bytes, made: Made) -> re.Pattern[Any]:
    flags, numbers, groups, names, by_group = made
    code = memoryview(numbers).cast("I").tolist()
    internal: Any = re
    found: re.Pattern[Any] = internal._compiler._sre.compile(
        pattern, flags, code, groups, names, by_group
    )
    return found


def _made(pattern: str | bytes, flags: int) -> Made:
    """Do what :func:`re.compile` does, up to what it makes the pattern of."""
    internal: Any = re
    parsed = internal._parser.parse(pattern, flags)
    code = internal._compiler._code(parsed, flags)
    names: dict[str, int] = dict(parsed.state.groupdict)
    by_group: list[str | None] = [None] * parsed.state.groups
    for name, group in names.items():
        by_group[group] = name
    numbers = b"".join(number.to_bytes(4, sys.byteorder) for number in map(int, code))
    return flags | parsed.state.flags, numbers, parsed.state.groups - 1, names, tuple(by_group)
