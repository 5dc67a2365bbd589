"""The walk over Lark's tables makes of every text what Lark itself makes of it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from lark import Token

from tracelens import grammars
from tracelens.automaton import Refused
from tracelens.grammars import Grammar, Unreadable
from tracelens.logs import Log, measured
from tracelens.plugins.registry import discover
from tracelens.testing import GrammarCase

LOGS = [log for log in discover("logs", Log) if log.__module__.startswith("tracelens.")]
#: Mutants of each example.
MUTANTS = 12


def plain(found: Any) -> Any:
    """Return a result in a form in which equal ones are equal, line numbers of tokens included."""
    if isinstance(found, Token):
        return found.type, str(found), found.line
    if isinstance(found, list):
        return [getattr(found, "name", ""), *map(plain, found)]
    return found


def by_lark(grammar: Grammar, text: str) -> Any:
    try:
        return plain(grammar.parse_plainly(text))
    except Unreadable as error:
        return str(error), error.line


def by_us(grammar: Grammar, text: str) -> Any:
    try:
        return plain(grammar.parse(text))
    except Unreadable as error:
        return str(error), error.line


def mutants(text: str, of: random.Random) -> list[str]:
    """Return texts that are like ``text``: cut, doubled, with a character of another place."""
    out = []
    for _ in range(MUTANTS):
        start, end = sorted((of.randrange(len(text) + 1), of.randrange(len(text) + 1)))
        end = min(end, start + 12)
        put = of.choice(["", text[start:end] * 2, of.choice(text or " "), "\n", "7"])
        out.append(text[:start] + put + text[end:])
    return out


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_what_is_walked_is_what_lark_reads(log: type[Log]) -> None:
    grammar = grammars.load(log.name, log.__module__)
    of = random.Random(log.name)
    for example in GrammarCase(log).examples():
        text = log.mask(measured(log, example.text)[0])
        for one in [text, *mutants(text, of)]:
            assert by_us(grammar, one) == by_lark(grammar, one), one


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_the_tables_of_every_grammar_are_walked(log: type[Log]) -> None:
    grammar = grammars.load(log.name, log.__module__)
    quick = grammar.quick
    assert quick is not None
    for example in GrammarCase(log).examples():
        text = log.mask(measured(log, example.text)[0])
        quick.parse(text, "start")  # neither refused nor in doubt


def test_what_lark_refuses_is_refused_without_it() -> None:
    quick = grammars.load("onednn_verbose", "tracelens.logs.onednn_verbose").quick
    assert quick is not None
    for text in ("", "onednn_verbose,", "\0"):
        with pytest.raises(Refused):
            quick.parse(text, "start")
