"""What is compiled once more for another grad mode is no cost of the graph break before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.frames import Frame
from tracelens.frames.break_cost import cost_of_calls
from tracelens.source import read

FILE = "/home/ana/proj/model.py"
NAME = "torch_dynamo_resume_in_forward_at_8"


def line(when: str, number: str, text: str) -> str:
    site = "torch/_dynamo/guards.py:5396"
    return f"V1124 12:00:{when}.000000 7 {site}] [{number}] {text}\n"


def entry(
    number: str, start: str, end: str, reason: str, function: str = f"{NAME} in {FILE}"
) -> str:
    parts = [
        f"Recompiling function {function}:8",
        "    triggered by the following guard failure(s):",
        f"    - {number[0]}/0: {reason}",
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


LOST = f"""\
Graph break in user code at {FILE}:20
Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. Graph break encountered:

graph break in loop
  Explanation: torch.compile detected a graph break in a for/while loop. Skipping the frame and falling back to eager, as graph breaks in loops are not supported.

  Developer debug context: frame skipped: forward ({FILE} line 12)

User code traceback:
  File "{FILE}", line 20, in forward
    if random.random() < ratio:
"""  # noqa: E501 -- whole lines of a log


@pytest.mark.parametrize(
    ("number", "file", "loop", "seconds"),
    [
        ("2", FILE, "graph break in loop", 30),
        ("0", FILE, "graph break in loop", None),  # met before it: no call of it
        ("2", "/home/ana/proj/other.py", "graph break in loop", None),
        ("2", FILE, "graph break in a `with` block", None),
    ],
)
def test_what_comes_after_a_lost_loop_in_its_file_is_what_it_may_cost(
    number: str, file: str, loop: str, seconds: int | None, tmp_path: Path
) -> None:
    """Two recompiles of a function that is met later; its first entry is compiled anyway."""
    log = tmp_path / "run.log"
    lost = LOST.replace("graph break in loop", loop).replace("for/while loop", loop[15:])
    site = "torch/_dynamo/symbolic_convert.py:5124"
    head = f"V1124 12:00:01.000000 7 {site}] [1/0] [__graph_breaks] "
    text = "".join(f"{head}{one}\n" for one in lost.splitlines())
    text += line("05", f"{number}/0", "[__guards] GUARDS:")
    for entry_number, start, end in (("1", "10", "20"), ("2", "20", "40")):
        reason = f"len(states) == {entry_number}"
        text += entry(f"{number}/{entry_number}", start, end, reason, f"step in {file}")
    log.write_text(text)
    (found,) = [one for one in analyze(str(log)).findings if one.code == "GBR006"]
    assert (found.cost.ms if found.cost else None) == (seconds and 1000.0 * seconds)
    assert found.cost is None or found.cost.basis == "upper_bound"
