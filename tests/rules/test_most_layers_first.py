"""What is compiled beside a break in a package: most layers first, and nothing that breaks."""

from __future__ import annotations

from pathlib import Path

from tracelens import analyze
from tracelens.dynamo.layer_counts import most_first
from tracelens.report import Finding
from tracelens.rules.gbr._break_data import BreakData, Line
from tracelens.rules.gbr._later import reads_later

FOLDER = Path(__file__).parents[2] / "fixtures/rules/GBR008-dynamic-output-shape"


def told(name: str) -> Finding:
    return next(one for one in analyze(str(FOLDER / name)).findings if one.code == "GBR008")


def test_what_holds_most_layers_is_named_first_and_what_breaks_is_left_out() -> None:
    found = told("fires-parts-with-breaks.log.gz")
    assert found.data["beside"] == ["self.large", "self.small", "self.drop"]
    assert found.data["torn"] == ["self.encoder"]
    assert "and not `self.encoder`, where the graph breaks as well" in found.advice[0].text


def test_where_nothing_else_breaks_nothing_is_left_out() -> None:
    found = told("fires-by-a-method.log")
    assert found.data["torn"] == []
    assert "and not" not in found.advice[0].text


def test_of_as_many_layers_the_order_stays() -> None:
    kinds = {"self.b": "B", "self.a": "A", "self.c": "C"}
    assert most_first(kinds, kinds, {}) == ("self.b", "self.a", "self.c")
    assert most_first(kinds, kinds, {("self.c", "C"): 3, ("self.a", "A"): 1}) == (
        "self.c",
        "self.a",
        "self.b",
    )
    # Another class of that name is another module.
    assert most_first(kinds, kinds, {("self.c", "D"): 3})[0] == "self.b"


def test_without_the_setting_it_is_said_why_nothing_is_named() -> None:
    """The next line reads a number, so that no size is captured; nothing is beside it."""
    found = told("fires-read-behind-in-a-package.log")
    assert found.advice == ()
    assert "No change is named" in found.message


def test_a_method_of_that_name_of_another_class_reads_nothing_behind_it() -> None:
    package = "/home/ana/venv/lib/python3.11/site-packages/nets/base.py"
    stack = (
        Line(file=package, line=39, function="embed"),
        Line(file=package, line=10, function="forward"),
    )
    data = BreakData(family="dynamic_shape", file=package, line=10, function="forward", stack=stack)
    for called, expected in (((package, 39), True), ((package, 44), False), (("", 0), True)):
        assert reads_later(data, {(package, "forward"): [(called, 25)]}) is expected
    assert not reads_later(data, {(package, "forward"): [((package, 39), 9)]})
