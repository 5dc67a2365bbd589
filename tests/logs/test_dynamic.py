"""Symbols: where they come from, what is guarded on them, in the wording of each version."""

from __future__ import annotations

import pytest

from tests.corpus import cases, log_of, needs_corpus
from tracelens.logs.dynamic import (
    ChangedValue,
    CreateEnv,
    CreateSymbol,
    DuckSized,
    Dynamic,
    GuardAdded,
    MarkedDynamic,
    RangeUpdated,
    Replaced,
    ShapeNote,
    Specialized,
    UnbackedSymbol,
)
from tracelens.source import read

ORIGIN = "(_dynamo/variables/builder.py:3222 in wrap_symint)"
MORE = ', for more info run with TORCHDYNAMO_EXTENDED_DEBUG_CREATE_SYMBOL="s16"'
K = "create_symbol s16 = 3 for L['k']"


@pytest.mark.parametrize(
    ("text", "low", "code", "line"),
    [
        (f"{K} [-int_oo, int_oo] y = k  # p/m.py:4 in f {ORIGIN}{MORE}", "-int_oo", "y = k", 4),
        (f"{K} [-922, 922] at p/m.py:4 in f {ORIGIN}{MORE}", "-922", "", 4),
        (f"{K} [2, 922] {ORIGIN}{MORE}", "2", "", 0),
        (K, "", "", None),
    ],
)
def test_a_symbol_knows_its_source(text: str, low: str, code: str, line: int | None) -> None:
    (record,) = Dynamic.parse(text)
    assert isinstance(record, CreateSymbol)
    assert (record.symbol, record.value, record.source) == ("s16", "3", "L['k']")
    assert record.low == low
    if line is None:
        assert record.where is None
    else:
        assert record.where is not None
        assert (record.where.code, record.where.line) == (code, line)
        assert record.where.origin == ORIGIN


def test_the_source_may_be_a_size() -> None:
    text = f"create_symbol s0 = 16 for L['a'][0].size()[1] [2, int_oo] f(x)  # p.py:6 in g {ORIGIN}"
    (record,) = Dynamic.parse(text)
    assert isinstance(record, CreateSymbol)
    assert record.source == "L['a'][0].size()[1]"
    (record,) = Dynamic.parse("create_symbol s0 duck sized L['y'].size()[0]")
    assert record == DuckSized(symbol="s0", source="L['y'].size()[0]")
    (record,) = Dynamic.parse("create_unbacked_symint u0 [-int_oo, int_oo] n  # p.py:5 in f (x)")
    assert isinstance(record, UnbackedSymbol)


def test_a_guard_shows_the_users_line() -> None:
    text = f"eval s77 <= 10 [guard added] if n:  # proj/m.py:6 in <lambda> {ORIGIN}{MORE}"
    (record,) = Dynamic.parse(text)
    assert isinstance(record, GuardAdded)
    assert (record.expression, record.is_forced) == ("s77 <= 10", False)
    assert record.where is not None
    assert (record.where.file, record.where.function) == ("proj/m.py", "<lambda>")
    (record,) = Dynamic.parse(f"eval (forcing_spec) s0 [guard added] {ORIGIN}")
    assert isinstance(record, GuardAdded)
    assert record.is_forced


def test_what_becomes_of_a_symbol() -> None:
    (record,) = Dynamic.parse("_update_var_to_range s77 = VR[2, 10] (update)")
    assert record == RangeUpdated(symbol="s77", low="2", high="10", change="update")
    (record,) = Dynamic.parse("set_replacement s0 = 2*s1 + 1 (solve) VR[5, 21]")
    assert record == Replaced(symbol="s0", target="2*s1 + 1", reason="solve")
    (record,) = Dynamic.parse("Specializing L['x'].size()[0] to 16")
    assert record == Specialized(source="L['x'].size()[0]", value="16")


def test_why_a_source_became_dynamic() -> None:
    text = "marking L['x'] as dynamic (from automatic dynamic/PGO)"
    (record,) = Dynamic.parse(text)
    assert record == MarkedDynamic(source="L['x']", reason="from automatic dynamic/PGO")
    text = "automatic dynamic int L['k'] val 3 != 2\nautomatic dynamic L['x'] size(0) 24 != 16"
    value, size = Dynamic.parse(text)
    assert value == ChangedValue(source="L['k']", what="val", new="3", old="2")
    assert size == ChangedValue(at=1, source="L['x']", what="size(0)", new="24", old="16")
    (size,) = Dynamic.parse("automatic dynamic size L['x'] size(0) 7 != 4")
    assert size == ChangedValue(source="L['x']", what="size(0)", new="7", old="4")


@pytest.mark.parametrize(
    "text",
    [
        "produce_guards",
        "track_symint L['x'].size()[0] 16 None\ntrack_symint L['x'].stride()[0] 1 None",
        "Skipping guard L['x'].size()[0] == 16",
        "eval False == False [statically known]",
        "eval s0 > 1 [trivial]",
        "MAGIC eq s77 1",
        "eq s77 1 -> Eq(s77, 1)",
        "call evaluate_expr(*(False, None), **{})",
        "-> (None, False)",
        'Stack (most recent call last):\n  File "/home/ana/proj/m.py", line 4, in f\n    y = x',
    ],
)
def test_debug_output_says_nothing_to_a_rule(text: str) -> None:
    assert Dynamic.parse(text) == ()


def test_a_compilation_that_makes_no_symbol_is_told_of_as_well() -> None:
    assert Dynamic.parse("create_env") == (CreateEnv(),)


def test_other_lines_are_notes() -> None:
    (record,) = Dynamic.parse("Ignored guard u0 >= 0 == True, this could result in problems")
    assert isinstance(record, ShapeNote)


@needs_corpus
@pytest.mark.parametrize(
    ("version", "symbol"),
    [("2.4.1", "s0"), ("2.6.0", "s0"), ("2.8.0", "s16"), ("2.13.0", "s16"), ("2.15.0", "s16")],
)
def test_the_integer_that_changed_became_a_symbol(version: str, symbol: str) -> None:
    case = "art_debug_dynamic" if version == "2.13.0" else "art_dynamic"
    (folder,) = cases(f"{version}/{case}")
    evidence, _ = read([log_of(folder)])
    (row,) = evidence.table(CreateSymbol)
    record = row.record
    assert (record.symbol, record.value, record.source) == (symbol, "3", "L['k']")
    assert record.where is not None
    assert record.where.line == 4
    assert not evidence.unread
    assert not evidence.known


@needs_corpus
def test_a_branch_on_a_size_guards_it_once_per_side() -> None:
    (case,) = cases("2.13.0/dynamic_verbose")
    evidence, _ = read([log_of(case)])
    guards = [row.record.expression for row in evidence.table(GuardAdded)]
    assert guards == ["s77 <= 10", "s77 > 10", "s86 >= 0", "s86 < 0"]
    marked = [row.record.source for row in evidence.table(MarkedDynamic)]
    assert marked == ["L['x']", "L['n']"]


@pytest.mark.parametrize(
    ("text", "source", "what", "new", "old"),
    [
        ("automatic dynamic L['x'] dim 2 != [2]", "L['x']", "dim", "2", "[2]"),
        ("automatic dynamic size L['x'] dim (4, 4) != (8,)", "L['x']", "dim", "(4, 4)", "(8,)"),
    ],
)
def test_another_number_of_dimensions(
    text: str, source: str, what: str, new: str, old: str
) -> None:
    (record,) = Dynamic.parse(text)
    assert isinstance(record, ChangedValue)
    assert (record.source, record.what, record.new, record.old) == (source, what, new, old)
