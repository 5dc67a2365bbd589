"""No pattern takes more than linear time on any text: those of modules and those of grammars.

Each repetition of a pattern is pumped: what must stand before it, many times what it repeats, and
something that nothing matches. Eight times the text may take little more than eight times as long.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Iterator
from pathlib import Path
from re import _constants as sre
from re import _parser
from typing import Any, NamedTuple

import pytest

import tracelens
from tracelens import grammars
from tracelens.late import Late
from tracelens.logs import Log
from tracelens.plugins.registry import discover

ROOT = Path(tracelens.__file__).parent
#: What the package holds, and the log kinds: a grammar each.
NO_ROOMS = {"__init__", "__main__", "__pycache__", "py"}
ROOMS = sorted({path.stem for path in ROOT.iterdir()} - NO_ROOMS)
KINDS = sorted(path.stem for path in (ROOT.parent / "grammars").glob("*.lark"))
SHORT, LONG = 800, 6_400
#: Times as long that eight times the text may take, and seconds below which nothing is said.
GROWTH, NOTHING = 24, 0.008
#: Methods that look for a pattern at every place of a text, which costs a repetition at its
#: beginning dear.
REPEATS = {sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT}
LOOKING = ("search", "finditer", "findall", "sub", "split")


def sample(tree: Any) -> str:
    """Return a text that a parsed pattern matches, as short as it may be, or nearly."""
    return "".join(_one(op, arg) for op, arg in tree)


def _one(op: Any, arg: Any) -> str:
    if op in REPEATS:
        return sample(arg[2]) * min(int(arg[0]), 40)
    return next(iter(_choices(op, arg)), "")


def _choices(op: Any, arg: Any) -> list[str]:
    """Return some texts that one node of a pattern matches."""
    if op is sre.IN:
        pattern = re.compile(_set(arg))
        return [c for c in "a0 .,:/_-([{\"'\\\t=#|x" if pattern.fullmatch(c)] or _listed(arg)
    if op is sre.BRANCH:
        return [sample(branch) for branch in arg[1]]
    text = ""
    if op is sre.LITERAL:
        text = chr(arg)
    elif op is sre.NOT_LITERAL:
        return [c for c in "a 0-" if ord(c) != arg]
    elif op is sre.ANY:
        return ["a", " ", "0", "-"]
    elif op is sre.SUBPATTERN:
        text = sample(arg[3])
    elif op is sre.ATOMIC_GROUP:
        text = sample(arg)
    return [text] if text else []


def _listed(arg: Any) -> list[str]:
    return [
        chr(what if op is sre.LITERAL else what[0])
        for op, what in arg
        if op in {sre.LITERAL, sre.RANGE}
    ]


def _set(arg: Any) -> str:
    parts = []
    for op, what in arg:
        if op is sre.NEGATE:
            parts.append("^")
        elif op is sre.LITERAL:
            parts.append(re.escape(chr(what)))
        elif op is sre.RANGE:
            parts.append(f"{re.escape(chr(what[0]))}-{re.escape(chr(what[1]))}")
        elif op is sre.CATEGORY:
            parts.append({"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}.get(str(what)[9:], ""))
            if str(what)[9:].startswith("NOT_"):
                parts[-1] = {"DIGIT": r"\D", "SPACE": r"\S", "WORD": r"\W"}[str(what)[13:]]
    return f"[{''.join(parts)}]"


def attacks(tree: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield (what stands before, what is repeated) for each open repetition of a pattern."""
    for op, arg in tree:
        if op in REPEATS and arg[1] > 200:
            for op2, arg2 in arg[2]:
                yield from ((before, choice) for choice in _choices(op2, arg2)[:4] if choice)
            yield before, sample(arg[2])
        for below in _below(op, arg):
            yield from attacks(below, before)
        before += _one(op, arg)


def _below(op: Any, arg: Any) -> list[Any]:
    if op in REPEATS:
        return [arg[2]]
    if op is sre.SUBPATTERN:
        return [arg[3]]
    return list(arg[1]) if op is sre.BRANCH else []


class Pattern(NamedTuple):
    """A pattern, by where it is from."""

    name: str
    compiled: re.Pattern[Any]
    #: Whether it is looked for at every place.
    looked: bool


def of_modules(room: str) -> Iterator[Pattern]:
    """Yield the patterns of the modules in one room."""
    within = pkgutil.walk_packages([str(ROOT / room)], f"tracelens.{room}.")
    for module in map(importlib.import_module, [f"tracelens.{room}", *names(within)]):
        source = Path(module.__file__ or "").read_text(encoding="utf-8")
        for name, held in vars(module).items():
            value = held.compiled if isinstance(held, Late) else held
            if isinstance(value, re.Pattern) and f"{name} = " in source:
                looked = any(f"{name}.{method}(" in source for method in LOOKING)
                yield Pattern(f"{module.__name__}.{name}", value, looked)


def names(within: Iterator[pkgutil.ModuleInfo]) -> Iterator[str]:
    for info in within:
        if ".live.inject" not in info.name and not info.name.endswith((".drive", ".bootstrap")):
            yield info.name


def of_log(log: type[Log]) -> Iterator[Pattern]:
    """Yield the patterns that tell where a record of a log kind begins and ends, and its tokens."""
    for name in ("begins", "continues", "ends", "cuts"):
        if (pattern := getattr(log, name)) is not None:
            yield Pattern(f"{log.name}.{name}", pattern, looked=False)
    for terminal in grammars.load(log.name, log.__module__)._lark.terminals:
        compiled = re.compile(terminal.pattern.to_regexp())
        yield Pattern(f"{log.name}.lark:{terminal.name}", compiled, looked=False)


def seconds(pattern: re.Pattern[Any], text: str, *, looked: bool) -> float:
    subject: Any = text.encode() if isinstance(pattern.pattern, bytes) else text
    begun = time.process_time()
    (pattern.search if looked else pattern.match)(subject)
    return time.process_time() - begun


def is_slow(pattern: re.Pattern[Any], before: str, pumped: str, *, looked: bool) -> bool:
    """Tell whether a long text takes far longer than its length explains."""
    many = max(1, LONG // len(pumped))
    few = max(1, SHORT // len(pumped))
    for end in ("\0", "\n\0", ""):
        long = seconds(pattern, before + pumped * many + end, looked=looked)
        if long < NOTHING:
            continue
        short = min(seconds(pattern, before + pumped * few + end, looked=looked) for _ in range(3))
        if long > GROWTH * max(short, 1e-5):
            return True
    return False


def slow(found: Iterator[Pattern]) -> list[tuple[str, str, str]]:
    """Return the patterns that a text makes slow, with what stands before and what is repeated."""
    wrong = []
    for name, pattern, looked in found:
        text = pattern.pattern
        tree = _parser.parse(
            text.decode("latin-1") if isinstance(text, bytes) else text, pattern.flags & ~re.UNICODE
        )
        for before, pumped in dict.fromkeys(attacks(tree)):
            if is_slow(pattern, before, pumped, looked=looked):
                wrong.append((name, before, pumped))
    return wrong


def test_a_slow_pattern_is_seen() -> None:
    found = Pattern("slow", re.compile(r"a*a*b"), looked=False)
    twice = Pattern("twice", re.compile(r"\s+$"), looked=True)
    assert {name for name, *_ in slow(iter([found, twice]))} == {"slow", "twice"}


@pytest.mark.parametrize("room", ROOMS)
def test_the_patterns_of_a_room_are_linear(room: str) -> None:
    assert slow(of_modules(room)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_patterns_of_a_log_kind_are_linear(kind: str) -> None:
    (log,) = (log for log in discover("logs", Log) if log.name == kind)
    assert slow(of_log(log)) == []
