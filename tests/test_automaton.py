"""The walk over Lark's tables makes of every text what Lark itself makes of it."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from tracelens import automaton, context, grammars, lark_tables
from tracelens.automaton import Refused, Tables, keep, kept
from tracelens.context import Context
from tracelens.grammars import Grammar, Unreadable
from tracelens.logs import Log, measured
from tracelens.plugins.registry import discover
from tracelens.testing import GrammarCase

LOGS = [log for log in discover("logs", Log) if log.__module__.startswith("tracelens.")]
#: Mutants of each example.
MUTANTS = 12


def plain(found: Any) -> Any:
    """Return a result in a form in which equal ones are equal, line numbers of tokens included."""
    if isinstance(found, str):  # a token, of ours or of Lark's
        token: Any = found
        return token.type, str(token), token.line
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


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_tables_that_are_kept_are_the_same(log: type[Log], tmp_path: Path) -> None:
    made = lark_tables.tables(grammars.load(log.name, log.__module__)._lark)
    assert made is not None
    keep(tmp_path / "tables", made)
    assert kept(tmp_path / "tables") == made


TEXT = 'start: A b?\nb: B\nA: /a+/\nB: "b"\n%ignore " "\n'


def new(path: Path, cache: Path | None) -> Grammar:
    path.write_text(TEXT, encoding="utf-8")
    with context.using(Context(cache)):
        return Grammar(path, vars(sys.modules[__name__]))


def test_kept_tables_are_read_without_lark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    first = new(tmp_path / "some.lark", cache)
    assert sorted(path.suffix for path in cache.iterdir()) == [".json", ".parser"]
    monkeypatch.setattr(lark_tables, "parser", None)
    monkeypatch.setattr(lark_tables, "tables", None)
    again = new(tmp_path / "some.lark", cache)
    for text in ("aa", "aa b"):
        assert by_us(again, text) == by_us(first, text)
    with pytest.raises(Refused):
        again.quick.parse("b", "start")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "broken",
    [b"", b"\0", b"7", b"{}", b'{"starts":{},"states":{},"lexers":[],"rules":[]}'],
)
def test_broken_tables_are_no_loss(broken: bytes, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    first = new(tmp_path / "some.lark", cache)
    (file,) = cache.glob("*.json")
    file.write_bytes(broken)
    again = new(tmp_path / "some.lark", cache)
    assert by_us(again, "aa b") == by_us(first, "aa b")


def test_what_is_not_kept_is_made_in_memory(tmp_path: Path) -> None:
    grammar = new(tmp_path / "some.lark", None)
    assert by_us(grammar, "a b") == by_lark(grammar, "a b")
    missing = tmp_path / "missing"
    keep(missing / "tables", Tables({}, {}, [], []))
    assert kept(missing / "tables") is None


def test_tables_of_another_version_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    new(tmp_path / "some.lark", cache)
    monkeypatch.setattr(automaton, "__version__", "0.0.0")
    new(tmp_path / "some.lark", cache)
    assert len(list(cache.glob("*.json"))) == 2


def test_which_line_is_refused_is_known_without_lark(monkeypatch: pytest.MonkeyPatch) -> None:
    grammar = grammars.load("guards", "tracelens.logs.guards")
    refused = []
    for text in ("GUARDS:\n\nx = 1\n  # y", "Guard eval latency = \nus", "Guard eval latency = 1"):
        with pytest.raises(Unreadable) as plainly:
            grammar.parse_plainly(text)
        refused.append((text, plainly.value.line))
    assert {line for _, line in refused} >= {1, 2}

    def lark(*_: object) -> None:
        raise AssertionError("Lark was asked")

    monkeypatch.setattr(Grammar, "parse_plainly", lark)
    for text, line in refused:
        with pytest.raises(Unreadable) as found:
            grammar.parse(text)
        assert found.value.line == line


def test_kinds_whose_texts_may_hold_several_records_are_cut() -> None:
    cut = {log.name for log in LOGS if not log.load().whole}
    assert {"autotune", "output_code", "onednn_verbose"} <= cut
    assert not {"guards", "dynamic", "fusion"} & cut
