"""Products in 16 bits on the CPU, and cells of recurrent modules: told where they are the story."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.test_trace_honesty import told
from tests.traces.writing import Json, op, span


def typed(name: str, at: float, us: float, shapes: Any, types: list[str]) -> Json:
    args = {"External id": int(at), "Input Dims": shapes, "Input type": types}
    return span("cpu_op", name, at, us, args=args)


@pytest.mark.parametrize(
    ("kind", "side", "us", "slow"),
    [
        ("c10::BFloat16", 256, 4000.0, True),  # 8.4 GFLOP/s
        ("c10::BFloat16", 256, 3000.0, False),  # 11
        ("float", 256, 4000.0, False),
        ("c10::BFloat16", 8, 4000.0, False),  # of few rows: memory limits it
    ],
)
def test_products_in_16_bits_may_be_slow(kind: str, side: int, us: float, slow: bool) -> None:
    shapes = [[side, 256], [256, 256]]
    events = [typed("aten::mm", us * at, us, shapes, [kind, kind]) for at in range(10)]
    finding = told(events).get("TRC035")
    assert (finding is not None and finding.data["form"] == "halves") is slow


@pytest.mark.parametrize(("inside", "told_of"), [(30, True), (9, False)])
def test_cells_that_are_called_one_by_one_are_told(inside: int, told_of: bool) -> None:
    events: list[Json] = []
    for n in range(400):
        at = 80.0 * n
        events.append(op("aten::lstm_cell", at, 2.0 * inside))
        events += [op("aten::add", at + 2 * k, 1.5) for k in range(inside)]
        events += [op("aten::mul", at + 61 + 2 * k, 1.5) for k in range(9)]
    finding = told(events)["TRC002"]
    assert (finding.data["cells"] == 400) is told_of
    assert finding.advice[0].id == ("recurrent" if told_of else "compile")
