"""What is compiled once more for another grad mode is no cost of the graph break before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens.frames import Frame
from tracelens.frames.break_cost import cost_of_calls
from tracelens.source import read

FILE = "/home/ana/proj/model.py"
NAME = "torch_dynamo_resume_in_forward_at_8"


def line(when: str, number: str, text: str) -> str:
    site = "torch/_dynamo/guards.py:5396"
    return f"V1124 12:00:{when}.000000 7 {site}] [{number}] {text}\n"


def entry(number: str, start: str, end: str, reason: str) -> str:
    parts = [
        f"Recompiling function {NAME} in {FILE}:8",
        "    triggered by the following guard failure(s):",
        f"    - 1/0: {reason}",
    ]
    begun = "".join(line(start, number, f"[__recompiles] {part}") for part in parts)
    return begun + line(end, number, "[__guards] GUARDS:")


@pytest.mark.parametrize(
    ("reason", "seconds"),
    [
        ("GLOBAL_STATE changed: grad_mode", 10),
        ("tensor 'x' size mismatch at index 0. expected 8, actual 9", 30),
    ],
)
def test_another_mode_is_no_cost_of_a_break(reason: str, seconds: int, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    text = entry("1/1", "10", "20", "tensor 'x' rank mismatch. expected 2, actual 3")
    log.write_text(text + entry("1/2", "20", "40", reason))
    evidence, _ = read([str(log)])
    cost = cost_of_calls([(FILE, NAME)], evidence.table(Frame))
    assert cost is not None
    assert cost.ms == pytest.approx(1000 * seconds)
