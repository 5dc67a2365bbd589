"""What a program compiles may be a package's own function: its lines are then all outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.test_break_advice import ITEM, OWN, PACKAGE, ids, stack
from tracelens import analyze

PREFIX = "V1120 12:06:10.834000 77 torch/_dynamo/"


@pytest.mark.parametrize(("compiled", "is_left_out"), [(OWN, True), (PACKAGE, False)])
def test_the_call_of_what_is_compiled_cannot_be_left_out(
    compiled: str, *, is_left_out: bool, tmp_path: Path
) -> None:
    way = stack(
        (OWN, 22, "step", "e = energy(x)"),
        (PACKAGE, 91, "energy", "return count(x)"),
        (PACKAGE, 47, "count", "n = x.sum().item()"),
    )
    text = (
        f"Graph break in user code at {PACKAGE}:47\nGraph Break Reason: {ITEM}\n"
        f"User code traceback:\n{way}"
    )
    log = tmp_path / "run.log"
    log.write_text(
        "".join(
            f"{PREFIX}symbolic_convert.py:5124] [0/0] [__graph_breaks] {one}\n"
            for one in text.split("\n")
        )
        + "".join(
            f"{PREFIX}guards.py:4000] [0/1] [__recompiles] {one}\n"
            for one in (
                f"Recompiling function {'step' if is_left_out else 'energy'} in {compiled}:9",
                "    triggered by the following guard failure(s):",
                "    - 0/0: tensor 'x' size mismatch at index 0. expected 12, actual 9",
            )
        )
    )
    (found,) = (one for one in analyze(str(log)).findings if one.code == "GBR001")
    assert ("leave-call-out" in ids(found)) is is_left_out
