"""Run the tables that Lark builds, without what Lark does at each token for others' sake.

Lark's own loop builds a token with eight attributes, and a generator, a lexer state and a parser
state stand around it. A log is read with the type, the text and the line of a token alone, so here
the same tables are walked with those. They are kept between runs in a form that needs nothing of
Lark, which takes a while to import. What is not plain, and every text that is refused, is left to
Lark: it says why.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from tracelens import context
from tracelens.compiled import compiled
from tracelens.version import __version__

__all__ = [
    "BUILT",
    "Automaton",
    "Doubt",
    "Piece",
    "Refused",
    "Tables",
    "at_hand",
    "keep",
    "kept",
    "place_of",
    "shipped_at",
]

#: What a wheel is built with, so that nobody's first run has to; a checkout has no such folder.
BUILT = Path(__file__).parent / "built"
_END = "$END"


class Refused(Exception):
    """The tables have no way to go on: Lark, which says why, refuses the text as well.

    Args:
        line: The line of the text that does not fit, from 1.
    """

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class Doubt(Exception):
    """What was read could not be built here."""


class Piece(str):
    """A token: its text, with what it is and the line that it is in."""

    __slots__ = ("line", "type", "value")
    type: str
    value: str
    line: int


_new: Callable[[type[Piece], str], Piece] = str.__new__

#: What a terminal does in a state: its name once keywords are told apart, whether it is ignored,
#: whether a newline may be in it, whether anybody reads it, and the keywords that it may be.
Terminal: TypeAlias = tuple[str, bool, bool, bool, dict[str, str] | None]
#: The patterns of a state, their flags, and its terminals.
Lexer: TypeAlias = tuple[list[str], int, dict[str, Terminal]]
#: The state behind a token or a rule; or what makes one value of others, of how many, and the rule.
Action: TypeAlias = tuple[Any, ...]
#: A rule, which of its children it takes, and whose children instead, and whether it is a child
#: itself where there is only one.
Made: TypeAlias = tuple[str, list[tuple[int, bool]] | None, bool]
_Match: TypeAlias = Callable[[str, int], "re.Match[str] | None"]
#: The pattern of a state, its terminals, and its actions.
_Step: TypeAlias = tuple[_Match, dict[Any, Terminal], dict[str, Action]]
_Build: TypeAlias = Callable[[list[Any]], Any]


class Tables(msgspec.Struct, frozen=True):
    """The tables of one grammar, written down: nothing but names, numbers and texts."""

    #: For what may be read, the first state and the last.
    starts: dict[str, tuple[int, int]]
    #: By state, the number of its lexer, and its actions.
    states: dict[int, tuple[int, dict[str, Action]]]
    lexers: list[Lexer]
    #: By number, as actions have it.
    rules: list[Made]


@cache
def _lark() -> str:
    """Return what is another with another version of Lark, which is not imported for it."""
    spec = importlib.util.find_spec("lark")
    assert spec is not None and spec.origin is not None  # noqa: S101, PT018 -- we depend on it
    found = Path(spec.origin).stat()
    return f"{spec.origin}\0{found.st_size}\0{found.st_mtime_ns}"


def place_of(path: Path, text: str) -> Path | None:
    """Return where the tables of the grammar in ``path`` are kept; None where nothing is."""
    folder = context.current().cache
    if folder is None:
        return None
    made_by = f"{__version__}\0{_lark()}\0{sys.version}"
    digest = hashlib.sha256(f"{made_by}\0{text}".encode()).hexdigest()
    return folder / f"{path.stem}-{digest[:16]}.json"


def shipped_at(path: Path, text: str) -> Path:
    """Return where a wheel holds the tables of the grammar in ``path``, if it is one of ours."""
    return BUILT / f"{path.stem}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def kept(path: Path) -> Tables | None:
    """Return the tables that are kept in a file; None where there are none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Tables)
    except (OSError, msgspec.DecodeError):
        return None


def at_hand(path: Path, text: str) -> Tables | None:
    """Return the tables that need not be built; None where Lark is to build them."""
    shipped = kept(shipped_at(path, text))
    place = place_of(path, text) if shipped is None else None
    return kept(place) if place else shipped


def keep(path: Path, tables: Tables) -> None:
    """Keep tables in a file; it is no loss when that fails."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        draft.write_bytes(msgspec.json.encode(tables))
        draft.replace(path)


class Automaton:
    """The tables of one grammar."""

    def __init__(self, tables: Tables, builder: Callable[[str], _Build]) -> None:
        self._tables = tables
        #: What makes something of the children of the rule of a name.
        self._builder = builder
        self._steps: dict[int, _Step] = {}
        self._lexers: dict[int, tuple[_Match, dict[Any, Terminal]]] = {}
        self._made: dict[int, _Build] = {}

    def parse(self, text: str, start: str) -> Any:
        """Return what Lark would make of ``text``.

        Raises:
            Refused: Lark refuses it, too.
            Doubt: Only Lark can tell.
        """
        try:
            return self._walk(text, start)
        except Refused:
            raise
        except Exception as error:  # whatever it is: Lark is asked, and says the same
            raise Doubt from error

    def _walk(self, text: str, start: str) -> Any:
        known = self._steps
        first, last = self._tables.starts[start]
        states: list[int] = [first]
        values: list[Any] = []
        at, end, line, last_line = 0, len(text), 1, 1
        while at < end:
            match, terminals, actions = known.get(states[-1]) or self._step(states[-1])
            if (found := match(text, at)) is None:
                raise Refused(line)
            name, ignored, breaks, kept, keywords = terminals[found.lastgroup]
            begin, at = at, found.end()
            if not ignored:
                if keywords is not None:
                    name = keywords.get(found.group(), name)
                action = actions.get(name)
                if action is not None and len(action) == 3:
                    action = self._reduced(action, name, states, values)
                if action is None:
                    raise Refused(line)
                states.append(action[0])
                last_line = line
                if kept:
                    piece = text[begin:at]
                    value = _new(Piece, piece)
                    value.type, value.value, value.line = name, piece, line
                    values.append(value)
                else:
                    values.append(None)
            if breaks:
                line += text.count("\n", begin, at)
        if states[-1] != last:
            action = (known.get(states[-1]) or self._step(states[-1]))[2].get(_END)
            if action is None or self._reduced(action, _END, states, values, last) is not None:
                raise Refused(last_line)
        if states[-1] != last:
            raise Refused(last_line)
        return values[-1]

    def _reduced(
        self,
        action: Action | None,
        name: str,
        states: list[int],
        values: list[Any],
        last: int | None = None,
    ) -> Action | None:
        """Make one value of the last ones until ``name`` can be shifted, and return how.

        Returns:
            None where it cannot, and where the state ``last`` was reached.
        """
        known = self._steps
        while action is not None and len(action) == 3:
            callback, size, origin = action
            if size:
                children = values[-size:]
                del states[-size:], values[-size:]
            else:
                children = []
            values.append(callback(children))
            state = known[states[-1]][2][origin][0]
            states.append(state)
            if state == last:
                return None
            action = (known.get(state) or self._step(state))[2].get(name)
        return action

    def _step(self, state: int) -> _Step:
        """Return what happens in a state, and keep it."""
        number, row = self._tables.states[state]
        if number not in self._lexers:
            written, flags, terminals = self._tables.lexers[number]
            patterns = [compiled(one, flags) for one in written]
            match = patterns[0].match if len(patterns) == 1 else _any_of(patterns)
            self._lexers[number] = match, terminals
        actions = {
            name: action if len(action) == 1 else (self._callback(action[0]), *action[1:])
            for name, action in row.items()
        }
        made = self._steps[state] = (*self._lexers[number], actions)
        return made

    def _callback(self, number: int) -> _Build:
        """Return what makes a value of a rule's children."""
        if (made := self._made.get(number)) is None:
            name, wanted, single = self._tables.rules[number]
            build = self._builder(name)
            if single:
                build = _only_or(build)
            made = self._made[number] = build if wanted is None else _of(wanted, build)
        return made


def _only_or(build: _Build) -> _Build:
    """Return a function that makes something of several children, and leaves a single one."""
    return lambda children: children[0] if len(children) == 1 else build(children)


def _of(wanted: list[tuple[int, bool]], build: _Build) -> _Build:
    """Return a function that makes something of the wanted children, or of their children."""
    if any(expands for _, expands in wanted):
        if wanted == [(0, True), (1, False)]:  # one more of many
            return lambda children: build(_longer(children[0].children, children[1]))
        return lambda children: build(_spliced(children, wanted))
    places = [place for place, _ in wanted]
    if len(places) == 1:
        (only,) = places
        return lambda children: build([children[only]])
    return lambda children: build([children[place] for place in places])


def _spliced(children: list[Any], wanted: list[tuple[int, bool]]) -> list[Any]:
    found: list[Any] = []
    for place, expands in wanted:
        if not expands:
            found.append(children[place])
        elif found:
            found += children[place].children
        else:  # nobody else has them
            found = children[place].children
    return found


def _longer(children: list[Any], child: Any) -> list[Any]:
    children.append(child)
    return children


def _any_of(patterns: list[re.Pattern[str]]) -> Callable[[str, int], re.Match[str] | None]:
    """Return what matches the first of several patterns that fits."""

    def match(text: str, at: int) -> re.Match[str] | None:
        return next((found for one in patterns if (found := one.match(text, at))), None)

    return match
