"""The warning that Dynamo gave up on a function, of every version."""

from __future__ import annotations

import pytest

from tests.corpus import cases, log_of, needs_corpus
from tracelens import grammars
from tracelens.logs.recompile_limits import RecompileLimit, RecompileLimits
from tracelens.logs.recompiles import KeysCheck, LengthCheck, Unexplained, ValueCheck
from tracelens.source import read

MODERN = """torch._dynamo hit config.recompile_limit (8)
   function: '<lambda>' (/home/ana/proj/model.py:84)
   last reason: 0/7: s == 'kk'                    # f = C(lambda)  # proj/model.py:84 in <lambda>
User stack trace:
  File "/home/ana/proj/model.py", line 84, in <lambda>
    f = C(lambda)
To log all recompilation reasons, use TORCH_LOGS="recompiles".
To diagnose recompilation issues, see https://docs.pytorch.org/docs/main/x.html"""
OLD = """torch._dynamo hit config.{name} ({limit})
   function: 'f' (/home/ana/proj/model.py:3)
   {reason}
to diagnose recompilation issues, see https://pytorch.org/docs/master/compile."""


def limit(text: str) -> RecompileLimit:
    (record,) = RecompileLimits.parse(text)
    assert isinstance(record, RecompileLimit)
    return record


def test_the_function_the_limit_and_the_last_reason() -> None:
    record = limit(MODERN)
    assert (record.name, record.limit) == ("recompile_limit", 8)
    assert (record.function, record.file, record.line) == (
        "<lambda>",
        "/home/ana/proj/model.py",
        84,
    )
    assert record.reason is not None
    assert record.reason.entry == "0/7"
    assert isinstance(record.reason.check, ValueCheck)
    assert record.reason.check.string == "'kk'"
    assert record.reason.comment is not None
    assert record.reason.comment.file == "proj/model.py"
    assert [frame.code for frame in record.stack] == ["f = C(lambda)"]


@pytest.mark.parametrize(
    ("name", "reason", "entry"),
    [
        ("cache_size_limit", "reasons:  L['n'] == 0", ""),
        ("cache_size_limit", "last reason: L['n'] == 0       ", ""),
        ("cache_size_limit", "last reason: 0/0: L['n'] == 0", "0/0"),
        ("recompile_limit", "last reason: 0/7: n == 0", "0/7"),
    ],
    ids=["2.1", "2.4", "2.6", "2.8"],
)
def test_older_versions(name: str, reason: str, entry: str) -> None:
    record = limit(OLD.format(name=name, limit=64, reason=reason))
    assert (record.name, record.limit, record.is_accumulated) == (name, 64, False)
    assert record.reason is not None
    assert record.reason.entry == entry
    assert isinstance(record.reason.check, ValueCheck)
    assert (str(record.reason.check.source), record.reason.check.integer) == ("n", 0)


def test_the_limit_of_all_functions_is_another_one() -> None:
    text = "last reason: Unable to find recompilation reasons"
    record = limit(OLD.format(name="accumulated_cache_size_limit", limit=256, reason=text))
    assert record.is_accumulated
    assert record.reason is not None
    assert isinstance(record.reason.check, Unexplained)


def test_the_hint_of_a_module_attribute() -> None:
    text = "last reason: 0/7: s.step == 7      (HINT: integer attributes are static.)"
    reason = limit(OLD.format(name="recompile_limit", limit=8, reason=text)).reason
    assert reason is not None
    assert reason.hint == "(HINT: integer attributes are static.)"


def test_the_warning_costs_few_tokens() -> None:
    grammar = grammars.load(RecompileLimits.name, RecompileLimits.__module__)
    assert grammar.tokens(MODERN) == 17


@needs_corpus
@pytest.mark.parametrize(
    ("case", "functions"),
    [
        ("2.1.2", []),
        ("2.4.1", ["<lambda>", "<lambda>"]),
        ("2.6.0", ["<lambda>", "<lambda>"]),
        ("2.8.0", ["<lambda>", "<lambda>", "forward"]),
        ("2.13.0", ["<lambda>", "<lambda>", "forward"]),
        ("2.15.0", ["<lambda>", "<lambda>", "forward"]),
    ],
)
def test_it_is_printed_without_any_setting(case: str, functions: list[str]) -> None:
    (folder,) = cases(f"{case}/no_logs_recompile_limit")
    evidence, _ = read([log_of(folder)])
    seen = [row.record.function for row in evidence.table(RecompileLimit)]
    assert seen == functions
    assert not evidence.unread


def test_an_entry_without_a_guard_that_failed_is_no_reason() -> None:
    record = limit(OLD.format(name="recompile_limit", limit=1, reason="last reason: 0/0: "))
    assert (record.function, record.limit, record.reason) == ("f", 1, None)


def test_a_function_may_be_the_rest_of_another_one() -> None:
    text = OLD.format(name="cache_size_limit", limit=64, reason="reasons:  ['L[\\'n\\'] == 0']")
    record = limit(text.replace("'f'", "'<graph break in run>'"))
    assert (record.function, record.line) == ("<graph break in run>", 3)


def test_a_list_of_reasons_is_taken_off_and_the_brackets_of_a_key_are_not() -> None:
    keys = limit(OLD.format(name="c", limit=8, reason="""reasons:  ["set(d.keys()) == {'k'}"]"""))
    assert keys.reason is not None
    assert isinstance(keys.reason.check, KeysCheck)
    assert (str(keys.reason.check.source), keys.reason.check.expected) == ("d", "{'k'}")
    length = limit(OLD.format(name="c", limit=8, reason="last reason: not L['d']['k']"))
    assert length.reason is not None
    assert isinstance(length.reason.check, LengthCheck)
    assert str(length.reason.check.source) == "d['k']"
