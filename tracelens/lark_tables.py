"""Build a grammar's parser with Lark, and write down its tables.

It is done once per grammar and user: from then on :mod:`tracelens.automaton` walks what is written
down, and Lark itself is imported for a text that is refused, and to say why.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

from lark import Lark, LarkError
from lark.lexer import BasicLexer, ContextualLexer, UnlessCallback
from lark.parse_tree_builder import ChildFilterLALR_NoPlaceholders, ExpandSingleChild
from lark.parsers.lalr_analysis import Shift

from tracelens.automaton import Action, Lexer, Made, Tables, Terminal
from tracelens.errors import PluginError

__all__ = ["line_of", "ordered", "parser", "reason", "tables"]


class Unlike(Exception):
    """Something is there that is not walked."""


def parser(
    path: Path, text: str, starts: Sequence[str], transformer: object, place: Path | None
) -> Lark:
    """Return the parser of a grammar, which Lark keeps beside the tables, whose ``place`` this is.

    Raises:
        PluginError: It is no grammar.
    """
    try:
        return Lark(
            text,
            parser="lalr",
            start=list(starts),
            transformer=transformer,
            maybe_placeholders=False,
            cache=str(place.with_suffix(".parser")) if place else False,
        )
    except LarkError as error:
        raise PluginError(f"{path}: {error}") from error


def tables(lark: Lark) -> Tables | None:
    """Return the tables of ``lark``; None where they are unlike those that are walked."""
    try:
        return _tables(lark)
    except Unlike:
        return None


def ordered(tables: Tables) -> Tables:
    """Return the tables with everything numbered as it is met: Lark numbers states as it happens.

    What one grammar gives is the same bytes each time then.
    """
    states: dict[int, int] = {}
    lexers: dict[int, int] = {}
    rules: dict[int, int] = {}
    pending = [place for name in sorted(tables.starts) for place in tables.starts[name]]
    for state in pending:  # which grows meanwhile
        if state not in states:
            states[state] = len(states)
            lexer, row = tables.states[state]
            lexers.setdefault(lexer, len(lexers))
            for _, action in sorted(row.items()):
                if len(action) == 1:
                    pending.append(action[0])
                else:
                    rules.setdefault(action[0], len(rules))

    def anew(action: Action) -> Action:
        return (states[action[0]],) if len(action) == 1 else (rules[action[0]], *action[1:])

    return Tables(
        {name: (states[a], states[b]) for name, (a, b) in sorted(tables.starts.items())},
        {
            states[old]: (lexers[lexer], {name: anew(one) for name, one in sorted(row.items())})
            for old in states
            for lexer, row in [tables.states[old]]
        },
        [tables.lexers[old] for old in lexers],
        [tables.rules[old] for old in rules],
    )


def _tables(lark: Lark) -> Tables:
    front: Any = lark.parser
    machine = front.parser.parser
    if type(front.lexer) is not ContextualLexer or any(
        isinstance(r, str) for r in machine.callbacks
    ):
        raise Unlike
    numbers = {rule: number for number, rule in enumerate(machine.callbacks)}
    read = _read(lark)
    lexers: dict[int, int] = {}
    written: list[Lexer] = []
    states: dict[int, tuple[int, dict[str, Action]]] = {}
    for state, row in machine.parse_table.states.items():
        lexer: Any = front.lexer.lexers[state]
        if id(lexer) not in lexers:
            lexers[id(lexer)] = len(written)
            written.append(_lexer(lexer, read))
        actions: dict[str, Action] = {
            str(name): (to,) if action is Shift else _reduction(numbers[to], to)
            for name, (action, to) in row.items()
        }
        states[state] = lexers[id(lexer)], actions
    table = machine.parse_table
    starts = {str(name): (at, table.end_states[name]) for name, at in table.start_states.items()}
    made = [_made(rule, callback) for rule, callback in machine.callbacks.items()]
    return Tables(starts, states, written, made)


def _reduction(number: int, rule: Any) -> Action:
    return number, len(rule.expansion), str(rule.origin.name)


def _read(lark: Lark) -> set[str]:
    """Return the terminals that a rule hands on."""
    rules: list[Any] = lark.rules
    return {
        part.name
        for rule in rules
        for part in rule.expansion
        if part.is_term and (rule.options.keep_all_tokens or not part.filter_out)
    }


def _lexer(lexer: BasicLexer, read: set[str]) -> Lexer:
    """Write down the patterns of a state, and what each terminal does there."""
    patterns = [str(one.pattern) for one in lexer.scanner._mres]
    kinds = {
        str(name): _terminal(lexer, str(name), lexer.callback.get(name), read)
        for name in sorted(lexer.scanner.allowed_types)
    }
    return patterns, int(lexer.g_regex_flags), kinds


def _terminal(lexer: BasicLexer, name: str, callback: object, read: set[str]) -> Terminal:
    keywords: dict[str, str] | None = None
    if callback is not None:
        if not isinstance(callback, UnlessCallback):
            raise Unlike
        among: Any = callback.scanner.terminals
        if any(one.pattern.type != "str" or one.pattern.flags for one in among):
            raise Unlike
        keywords = {str(one.pattern.value): str(one.name) for one in among}
    names = {name, *(keywords or {}).values()}
    keywords = dict(sorted(keywords.items())) if keywords else keywords
    return (
        name,
        name in lexer.ignore_types,
        name in lexer.newline_types,
        not names.isdisjoint(read),
        keywords,
    )


def _made(rule: Any, callback: Any) -> Made:
    """Write down what is done with a rule's children: what makes something of which of them."""
    wanted: list[tuple[int, bool]] | None = None
    if type(callback) is ChildFilterLALR_NoPlaceholders:
        wanted = [(int(place), bool(expands)) for place, expands in callback.to_include]
        callback = callback.node_builder
    single = type(callback) is ExpandSingleChild
    if single:
        callback = callback.node_builder
    if not isinstance(callback, FunctionType | partial):
        raise Unlike
    name = rule.alias or rule.options.template_source or rule.origin.name
    return str(name), wanted, single


def line_of(error: LarkError) -> int:
    """Return the line of the text that does not fit; 0 when that is not known."""
    line = getattr(error, "line", None)
    return line if isinstance(line, int) and line > 0 else 0


def reason(text: str, error: LarkError) -> str:
    """Return in one line why Lark refuses a text."""
    line, column = getattr(error, "line", None), getattr(error, "column", None)
    if not isinstance(line, int) or not isinstance(column, int) or line < 1:
        return "ends too early" if "$END" in str(error) else str(error).splitlines()[0]
    lines = text.split("\n")
    found = lines[line - 1][column - 1 : column + 23] if line <= len(lines) else ""
    return f"line {line}, column {column}: unexpected {found!r}"
