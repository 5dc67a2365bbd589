"""Which steps of a run count."""

import json
from pathlib import Path

import pytest

from tracelens.live import steps

MS = 1_000_000


def told(folder: Path, *rows: object) -> steps.Steps:
    lines = [{"process": {"pid": 1, "began": 0}}, {"callable": [0, "forward"]}, *rows]
    (folder / "process-1.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return steps.read(folder)


def call(start: int, end: int) -> list[object]:
    return ["call", 0, start * MS, end * MS]


def compiled(start: int, end: int) -> list[object]:
    return ["compile", start * MS, end * MS]


def test_steps_before_the_first_compilation_has_ended_do_not_count(tmp_path: Path) -> None:
    rows = [compiled(1, 90), call(0, 95), *(call(100 + 10 * n, 104 + 10 * n) for n in range(5))]
    found = told(tmp_path, *rows)
    assert found.seconds == pytest.approx([0.01] * 4)
    assert found.call_seconds == pytest.approx([0.004] * 5)


def test_a_compilation_at_the_end_does_not_cost_the_steps_before_it(tmp_path: Path) -> None:
    training = [call(100 + 10 * n, 104 + 10 * n) for n in range(30)]
    found = told(
        tmp_path, compiled(1, 90), call(0, 95), *training, compiled(501, 590), call(500, 595)
    )
    assert found.seconds == pytest.approx([0.01] * 29)
    assert found.calls == 32
    assert found.compiles == 2


def test_a_step_in_which_something_else_is_compiled_is_none(tmp_path: Path) -> None:
    early = [call(10 * n, 10 * n + 4) for n in range(3)]
    late = [call(200 + 10 * n, 204 + 10 * n) for n in range(4)]
    found = told(tmp_path, *early, compiled(30, 190), *late)
    assert found.seconds == pytest.approx([0.01] * 3)


def test_a_run_that_only_compiles_has_no_steps(tmp_path: Path) -> None:
    assert told(tmp_path, compiled(1, 90), call(0, 95)).seconds == ()
