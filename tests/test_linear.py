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
from functools import cache
from pathlib import Path
from re import _constants as sre
from re import _parser
from typing import Any

import pytest

import tracelens
from tracelens import grammars
from tracelens.logs import Log
from tracelens.plugins.registry import discover

ROOT = Path(tracelens.__file__).parent
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


@cache
def patterns() -> dict[str, tuple[re.Pattern[Any], bool]]:
    """Return every pattern by where it is from, and whether it is looked for at every place."""
    found: dict[str, tuple[re.Pattern[Any], bool]] = {}
    for info in pkgutil.walk_packages([str(ROOT)], "tracelens."):
        if ".live.inject" in info.name or info.name.endswith(("__main__", ".drive", ".bootstrap")):
            continue
        module = importlib.import_module(info.name)
        source = Path(module.__file__ or "").read_text(encoding="utf-8")
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern) and f"{name} = " in source:
                looked = any(f"{name}.{method}(" in source for method in LOOKING)
                found[f"{info.name}.{name}"] = (value, looked)
    for log in discover("logs", Log):
        for name in ("begins", "continues", "ends", "cuts"):
            if (pattern := getattr(log, name)) is not None:
                found[f"{log.name}.{name}"] = (pattern, False)
        for terminal in grammars.load(log.name, log.__module__)._lark.terminals:
            found[f"{log.name}.lark:{terminal.name}"] = (
                re.compile(terminal.pattern.to_regexp()),
                False,
            )
    return found


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


@pytest.mark.parametrize("name", sorted(patterns()))
def test_a_pattern_is_linear(name: str) -> None:
    pattern, looked = patterns()[name]
    text = pattern.pattern
    tree = _parser.parse(
        text.decode("latin-1") if isinstance(text, bytes) else text, pattern.flags & ~re.UNICODE
    )
    slow = [
        (before, pumped)
        for before, pumped in dict.fromkeys(attacks(tree))
        if is_slow(pattern, before, pumped, looked=looked)
    ]
    assert not slow
