"""Numbers, costs and commands in words."""

from __future__ import annotations

import pytest

from tracelens.logs import Log
from tracelens.plugins.registry import discover
from tracelens.render import _words
from tracelens.render._absent import missing, settings_of
from tracelens.render._again import again, recorded
from tracelens.render._table_words import about
from tracelens.render._tables import layout
from tracelens.render._words import plural
from tracelens.report import Advice, Cost, Outcome, Report, Verdict


@pytest.mark.parametrize(
    ("share", "words"),
    [(0, "0 %"), (1, "100 %"), (0.997, "99.7 %"), (0.99996, "99.9 %"), (0.0034, "0.34 %")],
)
def test_percent(share: float, words: str) -> None:
    assert _words.percent(share) == words


@pytest.mark.parametrize(
    ("ms", "words"),
    [(0.012, "12 us"), (0.34, "0.34 ms"), (340, "340 ms"), (1400, "1.4 s"), (180_000, "3 min")],
)
def test_milliseconds(ms: float, words: str) -> None:
    assert _words.milliseconds(ms) == words


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (None, ""),
        (Cost(basis="measured"), ""),
        (Cost(ms=339.35, basis="measured"), "340 ms (measured)"),
        (Cost(share=0.5, of="all calls", basis="upper_bound"), "at most 50 % of all calls"),
        (Cost(ms=14.0, share=0.1, basis="estimated"), "about 14 ms, 10 % (estimated)"),
        (Cost(ms=2.0, basis="confirmed"), "2 ms (confirmed by running it again)"),
        (
            Cost(ms=0.81, share=0.33, basis="confirmed", of="a step"),
            "0.81 ms of a step, 33 % (confirmed by running it again)",
        ),
    ],
)
def test_cost_names_its_basis(cost: Cost | None, words: str) -> None:
    assert _words.cost(cost) == words


@pytest.mark.parametrize(
    ("since", "until", "words"),
    [
        (None, None, "Do it."),
        ("2.6", "2.14", "Do it (torch 2.6 to 2.14)."),
        ("oneDNN 3.1", None, "Do it (since oneDNN 3.1)."),
        (None, "2.9", "Do it (until torch 2.9)."),
    ],
)
def test_advice_names_its_versions(since: str | None, until: str | None, words: str) -> None:
    assert _words.advice(Advice(text="Do it.", since=since, until=until)) == words


def test_names_are_counted_where_they_are_not_listed() -> None:
    assert _words.names(["a", "b"]) == "a, b"
    assert _words.names(list("abcdefg")) == "a, b, c, d, e and 2 more"
    assert _words.joined(["a", "b", "c"]) == "a, b and c"


@pytest.mark.parametrize(
    ("switches", "command"),
    [
        (["ONEDNN_VERBOSE=1", "ONEDNN_VERBOSE=2"], "ONEDNN_VERBOSE=2"),
        (["ONEDNN_VERBOSE=1", "ONEDNN_VERBOSE=dispatch"], "ONEDNN_VERBOSE=all"),
        (
            ['TORCH_LOGS="guards"', "TORCH_LOGS=+inductor,recompiles", "TORCH_LOGS=inductor"],
            'TORCH_LOGS="+inductor,guards,recompiles"',
        ),
        (["TORCH_LOGS=a or TORCH_LOGS=b"], "TORCH_LOGS=a"),
        (["a profiler trace", "it's quoted", ""], ""),
        (["ONEDNN_VERBOSE=1", "TORCH_LOGS=x"], "ONEDNN_VERBOSE=1 TORCH_LOGS=x"),
        (["TORCH_TRACE=/tmp/t; rm -rf /"], ""),
    ],
)
def test_switches_become_one_command(
    reports: dict[str, Report], switches: list[str], command: str
) -> None:
    verdicts = tuple(
        Verdict(code=f"XXX{n:03}", name="x", verdict=Outcome.ABSENT, needs=(switch,))
        for n, switch in enumerate(switches)
    )
    source = reports["clean"].inputs[0].model_copy(update={"kinds": {"warnings": 1}})
    report = reports["clean"].model_copy(update={"inputs": (source,), "verdicts": verdicts})
    advised = again(report)
    if command:
        assert advised is not None
        assert advised.command == f"{command} python your_program.py > run.log 2>&1"
        assert advised.why.startswith(f"{plural(len(verdicts), 'rule')} had nothing to look at")
    else:
        assert advised is None
    assert missing(report).codes == [verdict.code for verdict in verdicts]


def test_columns_are_found_in_the_rows() -> None:
    grid = layout([{"a": 1, "ms": 4.0}, {"b": [1, "x"], "ms": 1}, {"c": None}], 2)
    assert [column.heading for column in grid.columns] == ["a", "ms", "b", "c"]
    assert [cell.text for cell in grid.rows[1]] == ["", "1", "1, x", ""]
    assert [row[1].bar for row in grid.rows] == [1.0, 0.25]
    assert grid.left_out == 1


def test_known_tables_have_a_place_and_a_brief_form() -> None:
    rows = [{"file": "a.py", "line": 3, "type": "t", "gb": "g", "count": 1}]
    keys = [column.key for column in layout(rows, 9).columns]
    assert keys == ["where", "type", "gb", "count"]
    grid = layout(rows, 9, about("graph_breaks").brief)
    assert [cell.text for cell in grid.rows[0]] == ["a.py:3", "t", "1"]
    assert about("something_new").title == "Something new"
    assert all(cell.bar < 0 for cell in grid.rows[0])


def test_a_new_run_has_what_the_log_has(reports: dict[str, Report]) -> None:
    """What a finding rests on would be lost without it; a switch alone asks for no new run."""
    verdicts = (
        Verdict(code="XXX000", name="x", verdict=Outcome.ABSENT, needs=('TORCH_LOGS="fusion"',)),
    )
    kinds = {"graph_breaks": 1, "onednn_verbose": 2, "warnings": 1, "recompile_limits": 1}
    source = reports["clean"].inputs[0].model_copy(update={"kinds": kinds})
    report = reports["clean"].model_copy(update={"inputs": (source,), "verdicts": verdicts})
    advised = again(report)
    assert advised is not None
    assert advised.command.startswith('ONEDNN_VERBOSE=1 TORCH_LOGS="fusion,graph_breaks" python ')
    assert again(report.model_copy(update={"verdicts": ()})) is None


def test_what_the_log_has_is_shown_by_the_switches_of_its_kinds() -> None:
    switches = {log.name: log.switch for log in discover("logs", Log)}
    named = {name: list(recorded([name])) for name in switches}
    assert {name: settings_of(switches[name]) for name, own in named.items() if own} == {
        name: own for name, own in named.items() if own
    }
