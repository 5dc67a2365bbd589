"""Exceptions that Dynamo meets while it traces: which breaks are one, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.test_break_advice import OWN, ids, stack
from tracelens import analyze
from tracelens.report import Finding

SKIPS = (
    "Failed to handle graph break gracefully. Skipping the function and falling back to eager. "
    "Graph break encountered:\n\n"
)
RAISED = (
    "Observed exception\n  Explanation: Dynamo found no exception handler.\n\n"
    "  Developer debug context: raised exception {}\n"
)
PROPERTY = """TypeError("unsupported operand type(s) for +: 'property' and 'list'")"""
PREFIX = "V1120 12:06:10.834000 77 torch/_dynamo/symbolic_convert.py:5124] [{}/0] [__graph_breaks] "


def raising(room: Path, *breaks: tuple[str, int, int, str]) -> list[Finding]:
    """Return GBR006 of functions lost to an exception: its text, the line above, line and code."""
    log = room / "run.log"
    with log.open("w") as out:
        for number, (text, above, line, code) in enumerate(breaks):
            file = OWN.replace("model", f"part{number}")  # a function that is lost has its own
            way = stack(
                (OWN, 3, "track", "self.x = y"),
                (OWN, above, "__setattr__", "if name in self.features:"),
                (file, line, "features", code),
            )
            record = (
                f"Graph break in user code at {file}:{line}\nGraph Break Reason: {SKIPS}"
                f"{RAISED.format(text)}\nUser code traceback:\n{way}"
            )
            out.writelines(f"{PREFIX.format(number)}{one}\n" for one in record.split("\n"))
    return [one for one in analyze(str(log)).findings if one.code == "GBR006"]


SUPER = 'return super().features + ["length"]'


def test_one_exception_at_the_lines_of_several_classes_is_told_once(tmp_path: Path) -> None:
    (finding,) = raising(tmp_path, (PROPERTY, 14, 20, SUPER), (PROPERTY, 14, 30, SUPER))
    assert "unsupported operand type(s) for +: 'property' and 'list'" in finding.message
    assert "part0.py:20, proj/part1.py:30" in finding.message
    assert "Dynamo takes a property that is read through `super()`" in finding.message
    assert ids(finding) == ["property-by-method"]


@pytest.mark.parametrize(
    ("text", "above"), [(PROPERTY, 44), ("ValueError('too long')", 14), (PROPERTY[:-1], 14)]
)
def test_another_exception_or_another_way_is_another_finding(
    text: str, above: int, tmp_path: Path
) -> None:
    found = raising(tmp_path, (PROPERTY, 14, 20, SUPER), (text, above, 30, SUPER))
    assert len(found) == 2


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ValueError('too long')", SUPER),
        (PROPERTY, 'return self.features + ["length"]'),
        (PROPERTY, 'return super().features() + ["length"]'),
    ],
)
def test_other_exceptions_are_not_said_to_be_of_a_property(
    text: str, code: str, tmp_path: Path
) -> None:
    (finding,) = raising(tmp_path, (text, 14, 20, code))
    assert "super()" not in finding.message
    assert ids(finding) == ["remove-break"]
