"""Pauses between operators and graphs: whose they are; and steps that all compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.writing import Json, op, span
from tracelens.report import Severity

GRAPH = "## Call CompiledFxGraph fabcdef ##"


def broken(python: float, *, graphs: bool, frame: str = "", region: bool = True) -> list[Json]:
    """Return calls of a frame: a graph of 5 ms, ``python`` us without operators, one of 5 ms."""
    events: list[Json] = []
    for call in range(4):
        at = call * (python + 12_000.0)
        if region:
            whole = span("cpu_op", "Torch-Compiled Region: 0/0", at, python + 11_000.0)
            inner = span("cpu_op", "Torch-Compiled Region: 1/0", at + python + 5_500, 5_400.0)
            events += [whole, inner]
        if frame:
            events.append(span("python_function", frame, at + 5_050, python + 100))
        if graphs:
            events.append(span("user_annotation", GRAPH, at + 10, 5_000.0))
            events.append(span("user_annotation", GRAPH, at + python + 5_600, 5_000.0))
        else:
            events.append(op("aten::mm", at + 10, 20.0))
    return sorted(events, key=lambda event: (event["ts"], -event["dur"]))


@pytest.mark.parametrize(
    ("python", "frame", "title"),
    [
        (30_000.0, "model.py(6): merge", "`merge` takes"),
        (30_000.0, "", "Python beside the graphs of `0/0` takes"),
        (300.0, "model.py(6): merge", None),
    ],
)
def test_python_between_graphs_is_not_generated_code(
    tmp_path: Path, python: float, frame: str, title: str | None
) -> None:
    """Of 42 ms 30 are Python; of 12.3 ms 0.8, with what is around it."""
    stack = {"with_stack": 1} if frame else {}
    findings = found(tmp_path, broken(python, graphs=True, frame=frame), **stack)
    held = findings.get("TRC024")
    assert (held and held.title.startswith(title or "")) is (True if title else None)
    if held is not None:
        assert held.severity == Severity.WARNING
        assert held.advice[0].id == "before"
        assert "the compiled frame `0/0`" in held.message
    shares = findings["TRC030"].data["kinds"]
    assert shares.get("Python", 0.0) == pytest.approx((python + 1_000) / (python + 12_000), abs=0.1)


def test_a_region_whose_graphs_the_trace_does_not_show_counts_as_a_whole(tmp_path: Path) -> None:
    """Traces of older versions have no events of graphs: nothing is known of what is inside."""
    findings = found(tmp_path, broken(30_000.0, graphs=False))
    assert "TRC024" not in findings
    assert findings["TRC030"].data["kinds"]["generated code"] > 0.9


def compiling(*compiles: float) -> list[Json]:
    """Return steps of 10 ms, and what each compiles."""
    events: list[Json] = []
    at = 0.0
    for number, us in enumerate(compiles):
        events.append(span("user_annotation", f"ProfilerStep#{number}", at, us + 10_000.0))
        if us:
            name = "_compile.compile_inner (dynamo_timed)"
            events.append(span("cpu_op", name, at + 1, us))
        events.append(op("aten::mm", at + us + 10, 9_000.0))
        at += us + 10_100.0
    return events


@pytest.mark.parametrize(
    ("compiles", "title", "without"),
    [
        ((80e3, 40e3, 40e3), "3 of 3 profiled steps compile", ""),
        (
            (80e3, 40e3, 0.0),
            "after the first, 1 of 2 profiled steps compile",
            "A step without takes 10 ms.",
        ),
        ((0.0, 40e3, 0.0), "1 of 3 profiled steps compile", "A step without takes 10 ms."),
    ],
)
def test_a_step_without_compiling_is_one_that_does_not_compile(
    tmp_path: Path, compiles: tuple[float, ...], title: str, without: str
) -> None:
    finding = found(tmp_path, compiling(*compiles))["TRC003"]
    assert finding.title == title
    assert ("A step without" in finding.message) is bool(without)
    assert without in finding.message
    assert ("after the first step" in finding.message) is bool(without)


@pytest.mark.parametrize(("calls", "told"), [(10, True), (11, False)])
@pytest.mark.parametrize("builtin", ["", "<built-in function collect>"])
def test_a_function_that_pauses_in_few_of_its_calls_is_not_what_takes_long(
    tmp_path: Path, calls: int, builtin: str, *, told: bool
) -> None:
    """One call of ten lasts 30 ms: another program ran meanwhile, unless garbage was collected."""
    events: list[Json] = []
    at = 0.0
    for call in range(calls):
        us = 30_000.0 if call == 1 else 100.0
        events.append(span("python_function", "model.py(6): forward", at, us))
        if builtin and call == 1:
            events.append(span("python_function", builtin, at + 1, us - 2))
        events.append(op("aten::mm", at + us, 1_000.0))
        at += us + 1_010.0
    findings = found(tmp_path, events, with_stack=1)
    assert ("TRC024" in findings) is (told or bool(builtin))
