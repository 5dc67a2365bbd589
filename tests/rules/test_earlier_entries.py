"""One recompile of a log that begins late: its reasons tell what earlier entries were made for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Severity

HEAD = "Recompiling function step in /home/ana/proj/model.py:12\n"
FAILED = "    triggered by the following guard failure(s):\n"
SIZE = "tensor 'x' size mismatch at index 1. expected {}, actual 231"


def told(folder: Path, *reasons: str) -> dict[str, tuple[str, Severity]]:
    """Return what is told of one recompile for these reasons, the newest entry first."""
    lines = [f"    - 3/{len(reasons) - n}: {one}\n" for n, one in enumerate(reasons, 1)]
    path = folder / "run.log"
    path.write_text(HEAD + FAILED + "".join(lines))
    found = analyze(str(path)).findings
    return {one.code: (one.message, one.severity) for one in found if one.code.startswith("RCP")}


@pytest.mark.parametrize(
    ("code", "reason", "values"),
    [
        ("RCP002", SIZE, ["77", "64", "12"]),
        ("RCP004", "step == {}", ["981", "991", "1000"]),
        ("RCP007", "self.step == {}", ["6", "5", "4"]),
    ],
)
def test_entries_for_one_value_each_are_told_with_all_values(
    tmp_path: Path, *, code: str, reason: str, values: list[str]
) -> None:
    found = told(tmp_path, *map(reason.format, values))
    message, severity = found[code]
    assert severity is Severity.WARNING
    assert ", ".join(reversed(values)) in message
    before = 3 if code == "RCP002" else 2  # that one counts the newest, too
    entries = f"1 recompile, and {before} entries from before the log begins"
    assert entries in message.replace("one", "1")
    assert "RCP003" not in found


def test_two_entries_for_one_value_each_are_already_one_too_many(tmp_path: Path) -> None:
    """The first change of a number makes a symbol of it: there was one."""
    message, severity = told(tmp_path, "step == 991", "step == 1000")["RCP004"]
    assert severity is Severity.INFO
    assert "1 recompile, and 1 entry from before the log begins" in message


@pytest.mark.parametrize(
    "other",
    [
        "tensor 'x' dtype mismatch. expected Float, actual BFloat16",
        "step == 1",
        "other == 1000",
    ],
)
def test_entries_for_something_else_are_no_values_of_it(tmp_path: Path, other: str) -> None:
    found = told(tmp_path, "step == 991", other)
    assert found.keys() & {"RCP003", "RCP004"} == {"RCP003"}
    assert found["RCP003"][1] is Severity.NONE


def test_reasons_alone_do_not_advise_to_mark_what_is_held_constant(tmp_path: Path) -> None:
    """To mark a size that the code specializes raises."""
    path = tmp_path / "part.log"

    def means(*sizes: int) -> str:
        reasons = [f"    - 0/{n}: {SIZE.format(size)}\n" for n, size in enumerate(sizes)]
        path.write_text("".join(reversed(reasons)))
        (message,) = [one.message for one in analyze(str(path)).findings if one.code == "LOG001"]
        return message

    assert "mark_dynamic" in means(12)
    assert "mark_dynamic" not in means(12, 64)
    assert "holds it constant" in means(12, 64)
