"""The time of programs on the CPU: rows that add up, and the place that evidence names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tracelens
from tests.traces.writing import Json, kernel, op, span
from tracelens.report import Report

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def analyzed(path: Path, events: list[Json]) -> Report:
    file = path / "trace.json"
    file.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return tracelens.analyze(str(file))


def program() -> list[Json]:
    """Three steps of 10 ms: 2 wait for data, 5 compute, 1 is a collective's alone, 2 are left."""
    events: list[Json] = []
    for k in range(3):
        at = 10_000.0 * k
        events += [
            span("user_annotation", f"ProfilerStep#{k}", at, 10_000.0),
            span("user_annotation", LOADER, at, 2_000.0),
            span("user_annotation", "forward", at + 2_000.0, 4_000.0),
            op("aten::mm", at + 2_000.0, 3_000.0),
            op("aten::relu", at + 6_000.0, 2_000.0),
            span("user_annotation", "gloo:all_reduce", at + 7_000.0, 2_000.0, tid=2),
        ]
    return events


def test_the_rows_add_up(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = list(analyzed(tmp_path, program()).tables["time"])
    by = {row["phase"]: row for row in rows}
    assert {row["device"] for row in rows} == {"cpu"}
    for row in rows:
        assert row["window_ms"] == pytest.approx(row["busy_ms"] + row["idle_ms"], abs=1e-3)
        assert row["busy_ms"] == pytest.approx(row["compute_ms"] + row["exposed_comm_ms"], abs=1e-3)
        idle = row["idle_data_ms"] + row["idle_unknown_ms"]
        assert row["idle_ms"] == pytest.approx(idle, abs=1e-3)
    step = by["ProfilerStep#1"]
    parts = ("window_ms", "compute_ms", "exposed_comm_ms", "idle_data_ms", "idle_unknown_ms")
    assert [step[part] for part in parts] == [10.0, 5.0, 1.0, 2.0, 2.0]
    assert by["forward"]["window_ms"] == pytest.approx(12.0)
    assert by["forward"]["compute_ms"] == pytest.approx(9.0)


def test_where_a_device_computes_the_cpu_has_no_row(tmp_path: Path) -> None:
    rows = analyzed(tmp_path, [*program(), kernel("gemm", 3_000.0, 500.0)]).tables["time"]
    assert {row["device"] for row in rows} == {"0"}


def test_the_line_between_operators_is_quoted(tmp_path: Path) -> None:
    events: list[Json] = []
    for k in range(10):
        at = 10_000.0 * k
        events.append(op("aten::mm", at, 2_000.0))
        events.append(span("python_function", "serve.py(7): wait", at + 2_000.0, 8_000.0))
    (found,) = [f for f in analyzed(tmp_path, events).findings if f.code == "TRC024"]
    (line,) = found.evidence
    assert line.line > 1
    assert line.text.endswith("serve.py(7): wait")


@pytest.mark.parametrize(("share", "told"), [(0.25, False), (0.35, True)])
def test_time_without_operators_is_told_where_nothing_names_it(
    tmp_path: Path, share: float, told: bool
) -> None:
    events = [op("aten::mm", 10_000.0 * k, 10_000.0 * (1 - share)) for k in range(20)]
    found = [f for f in analyzed(tmp_path, events).findings if f.code == "TRC024"]
    assert bool(found) is told
    for each in found:
        assert "no operator runs" in each.title
        assert [advice.id for advice in each.advice] == ["stacks"]
        assert each.evidence[0].text.endswith("aten::mm")


@pytest.mark.parametrize(("joins", "advice"), [(True, "preallocate"), (False, "compile")])
def test_what_grows_by_cat_is_to_be_allocated_once(
    tmp_path: Path, joins: bool, advice: str
) -> None:
    name = "aten::cat" if joins else "aten::copy_"
    events: list[Json] = []
    for k in range(20):
        events += [op("aten::mm", 1000.0 * k, 700.0), op(name, 1000.0 * k + 700, 300.0)]
    (found,) = [f for f in analyzed(tmp_path, events).findings if f.code == "TRC014"]
    assert found.advice[0].id == advice
    assert (advice == "compile") == ("compile" in [each.id for each in found.advice])


def test_a_collective_that_is_waited_for_is_shown(tmp_path: Path) -> None:
    events: list[Json] = []
    for k in range(20):
        events.append(op("aten::mm", 10_000.0 * k, 4_000.0))
        met = 10_000.0 * k + 4_000.0
        events.append(span("user_annotation", "gloo:all_reduce", met, 6_000.0, tid=2))
    codes = {f.code for f in analyzed(tmp_path, events).findings}
    assert "TRC024" not in codes
    assert "TRC016" in codes


@pytest.mark.parametrize(
    ("every", "advice"),
    [
        (100, ["sorted", "whole"]),
        (1000, ["compile"]),
    ],  # a loop of masks; a few of them in a program
)
def test_loops_that_select_by_masks_are_not_to_be_compiled(
    tmp_path: Path, every: int, advice: list[str]
) -> None:
    names = ["aten::nonzero" if at % every == 0 else "aten::add" for at in range(20_000)]
    events = [op(name, 3.0 * at, 2.0) for at, name in enumerate(names)]
    (found,) = [f for f in analyzed(tmp_path, events).findings if f.code == "TRC002"]
    assert [each.id for each in found.advice] == advice
