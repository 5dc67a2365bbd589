"""Run the tables that Lark builds, without what Lark does at each token for others' sake.

Lark's own loop builds a token with eight attributes, and a generator, a lexer state and a parser
state stand around it. A log is read with the type, the text and the line of a token alone, so here
the same tables are walked with those. What is not plain, and every text that is refused, is left
to Lark: it says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from lark import Lark, Token
from lark.lexer import BasicLexer, ContextualLexer, UnlessCallback
from lark.parse_tree_builder import ChildFilterLALR_NoPlaceholders
from lark.parsers.lalr_analysis import Shift

__all__ = ["Automaton", "Doubt", "Refused"]

_END = "$END"


class Refused(Exception):
    """The tables have no way to go on: Lark, which says why, refuses the text as well."""


class Doubt(Exception):
    """What was read could not be built here."""


class Piece(Token):
    """A token without its place in the text, but for the line."""

    __slots__ = ()
    start_pos: ClassVar[None] = None  # type: ignore[misc]
    column: ClassVar[None] = None  # type: ignore[misc]
    end_line: ClassVar[None] = None  # type: ignore[misc]
    end_column: ClassVar[None] = None  # type: ignore[misc]
    end_pos: ClassVar[None] = None  # type: ignore[misc]


_new: Callable[[type[Piece], str], Piece] = str.__new__

#: What a terminal does in a state: its name once keywords are told apart, whether it is ignored,
#: whether a newline may be in it, whether anybody reads it, and the keywords that it may be.
_Terminal = tuple[str, bool, bool, bool, "dict[str, str] | None"]
#: The state behind a token or a rule; or what makes one value of others, of how many, and the rule.
_Action = tuple[Any, ...]
_Match = Callable[[str, int], "re.Match[str] | None"]
#: The pattern of a state, its terminals, and its actions.
_Step = tuple[_Match, dict[str | None, _Terminal], dict[str, _Action]]


class Automaton:
    """The tables of one grammar."""

    @classmethod
    def of(cls, lark: Lark) -> Automaton | None:
        """Return the tables of ``lark``; None where they are unlike those walked here."""
        parser: Any = lark.parser
        callbacks = parser.parser.parser.callbacks
        plain = type(parser.lexer) is ContextualLexer
        return cls(lark) if plain and not any(isinstance(of, str) for of in callbacks) else None

    def __init__(self, lark: Lark) -> None:
        parser: Any = lark.parser
        machine = parser.parser.parser
        self._table = machine.parse_table
        self._callbacks = machine.callbacks
        self._lexers = parser.lexer.lexers
        rules: list[Any] = lark.rules
        self._kept = {
            part.name
            for rule in rules
            for part in rule.expansion
            if part.is_term and (rule.options.keep_all_tokens or not part.filter_out)
        }
        self._steps: dict[int, _Step] = {}
        self._made: dict[Any, Callable[[list[Any]], Any]] = {}

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
        known, table = self._steps, self._table
        states: list[int] = [table.start_states[start]]
        values: list[Any] = []
        at, end, line = 0, len(text), 1
        while at < end:
            match, terminals, actions = known.get(states[-1]) or self._step(states[-1])
            if (found := match(text, at)) is None:
                raise Refused
            name, ignored, breaks, kept, keywords = terminals[found.lastgroup]
            begin, at = at, found.end()
            if not ignored:
                if keywords is not None:
                    name = keywords.get(found.group(), name)
                action = actions.get(name)
                if action is not None and len(action) == 3:
                    action = self._reduced(action, name, states, values)
                if action is None:
                    raise Refused
                states.append(action[0])
                if kept:
                    value = _new(Piece, text[begin:at])
                    value.type, value.value, value.line = name, text[begin:at], line
                    values.append(value)
                else:
                    values.append(None)
            if breaks:
                line += text.count("\n", begin, at)
        last = table.end_states[start]
        if states[-1] != last:
            action = (known.get(states[-1]) or self._step(states[-1]))[2].get(_END)
            if action is None or self._reduced(action, _END, states, values, last) is not None:
                raise Refused
        if states[-1] != last:
            raise Refused
        return values[-1]

    def _reduced(
        self,
        action: _Action | None,
        name: str,
        states: list[int],
        values: list[Any],
        last: int | None = None,
    ) -> _Action | None:
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
        lexer: BasicLexer = self._lexers[state]
        scanner = lexer.scanner
        patterns = scanner._mres
        match = patterns[0].match if len(patterns) == 1 else _any_of(patterns)
        terminals = {name: self._terminal(lexer, name) for name in scanner.allowed_types}
        actions: dict[str, _Action] = {}
        for name, (action, to) in self._table.states[state].items():
            if action is Shift:
                actions[name] = (to,)
            else:
                actions[name] = (self._callback(to), len(to.expansion), to.origin.name)
        made = self._steps[state] = (match, terminals, actions)
        return made

    def _callback(self, rule: Any) -> Callable[[list[Any]], Any]:
        """Return what makes a value of a rule's children, without what stands around it."""
        if rule not in self._made:
            self._made[rule] = _unwrapped(self._callbacks[rule])
        return self._made[rule]

    def _terminal(self, lexer: BasicLexer, name: str) -> _Terminal:
        callback = lexer.callback.get(name)
        keywords = None
        if callback is not None:
            if not isinstance(callback, UnlessCallback):
                raise Refused
            among = callback.scanner.terminals
            if any(one.pattern.type != "str" or one.pattern.flags for one in among):
                raise Refused
            keywords = {one.pattern.value: one.name for one in among}
        names = {name, *(keywords or {}).values()}
        ignored = name in lexer.ignore_types
        return (
            name,
            ignored,
            name in lexer.newline_types,
            not names.isdisjoint(self._kept),
            keywords,
        )


def _unwrapped(callback: Any) -> Callable[[list[Any]], Any]:
    """Return a function that does what Lark's filter of children does, where it does no more."""
    if type(callback) is not ChildFilterLALR_NoPlaceholders:
        return callback  # type: ignore[no-any-return]
    wanted, build = callback.to_include, callback.node_builder
    if any(expands for _, expands in wanted):
        if wanted == [(0, True), (1, False)]:  # one more of many
            return lambda children: build(_longer(children[0].children, children[1]))
        return callback
    places = [place for place, _ in wanted]
    if len(places) == 1:
        (only,) = places
        return lambda children: build([children[only]])
    return lambda children: build([children[place] for place in places])


def _longer(children: list[Any], child: Any) -> list[Any]:
    children.append(child)
    return children


def _any_of(patterns: list[re.Pattern[str]]) -> Callable[[str, int], re.Match[str] | None]:
    """Return what matches the first of several patterns that fits."""

    def match(text: str, at: int) -> re.Match[str] | None:
        return next((found for one in patterns if (found := one.match(text, at))), None)

    return match
