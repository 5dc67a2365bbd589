"""Compiled functions that run inside of others and are no pieces of them, and other by-standers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.traces.writing import Json, kernel, launch, op, read, span
from tracelens import analyze
from tracelens.report import Finding, Severity
from tracelens.traces.measured import Window

GRAPH = "## Call CompiledFxGraph fqqhd5fmpfdz7zhw46q5pzvpuzuqiytl4t7wovzqrwb4j27z ##"


def found(tmp_path: Path, events: list[Json], **header: object) -> dict[str, Finding]:
    file = tmp_path / "trace.json"
    file.write_text(json.dumps({"schemaVersion": 1, **header, "traceEvents": events}))
    return {finding.code: finding for finding in analyze(str(file)).findings}


def region(frame: str, ts: float, dur: float) -> Json:
    return op(f"Torch-Compiled Region: {frame}", ts, dur)


def window(events: list[Json]) -> Window:
    (row,) = read(events).table(Window)
    return row.record


def within(*around: str) -> list[Json]:
    """Return a compiled frame that runs inside of another one, and of what is between the two."""
    spans = [region("0/0", 0, 10_000)]
    spans += [op(name, 10 * at, 9_800 - 20 * at) for at, name in enumerate(around, 1)]
    return [*spans, region("1/0", 4_000, 2_000), op("aten::mm", 4_100, 1_000)]


@pytest.mark.parametrize(
    ("around", "is_piece"),
    [
        ((), True),
        (("CompiledFunction", GRAPH, "own::product"), False),
        (("own::product",), False),
        ((GRAPH,), False),
        (("CompiledFunctionBackward",), False),
        (("TorchDynamo Cache Lookup",), True),
        (("OwnFunction",), True),
        (("CompiledFunction", GRAPH, "own::product", "OwnFunction"), False),
    ],
)
def test_what_an_operator_or_a_graph_calls_is_no_piece(
    tmp_path: Path, around: tuple[str, ...], *, is_piece: bool
) -> None:
    events = within(*around)
    assert ("TRC005" in found(tmp_path, events)) is is_piece
    row = window(events)
    assert (row.nested, row.apart) == ((1, ()) if is_piece else (0, ("1/0",)))


def test_a_piece_behind_one_that_stands_by_itself_is_a_piece() -> None:
    events = [region("0/0", 0, 100), op("own::f", 10, 80), region("1/0", 20, 60)]
    row = window([*events, region("2/0", 30, 20), region("3/0", 92, 5)])
    assert (row.regions, row.nested, row.apart) == (4, 2, ("1/0",))


@pytest.mark.parametrize("named", [True, False])
def test_a_new_frame_is_said_to_go_on_where_the_trace_names_it(
    tmp_path: Path, *, named: bool
) -> None:
    resumed = "train.py(7): torch_dynamo_resume_in_f_at_9"
    events = [*within(), *([span("python_function", resumed, 3_990, 2_100)] if named else [])]
    message = found(tmp_path, events)["TRC005"].message
    assert "goes on in a new frame after a graph break" in message
    assert ("or calls one that is no part of its graph" in message) is not named


@pytest.mark.parametrize("busy", [True, False])
def test_pieces_are_information_where_the_device_has_other_work(
    tmp_path: Path, *, busy: bool
) -> None:
    events = [
        *within(),
        op("aten::add", 10_010, 900),
        launch(1, 2),
        kernel("sgemm", 10, 9_900 if busy else 900),
    ]
    finding = found(tmp_path, events)["TRC005"]
    assert finding.severity is (Severity.INFO if busy else Severity.WARNING)
    assert (finding.cost is None) is busy


def updating(compiled: float) -> list[Json]:
    """Return two optimizers with 100 operators each, of which one calls a compiled frame."""
    events = [
        span("user_annotation", "Optimizer.step#Own.step", 0, 5_000),
        region("0/0", 4_000, compiled),
        span("user_annotation", "Optimizer.step#Adam.step", 5_000, 4_000),
    ]
    starts = [*range(10, 3_010, 30), *range(5_010, 8_010, 30)]
    events += [op("aten::mul_", start, 10) for start in starts]
    return sorted(events, key=lambda event: float(event["ts"]))


@pytest.mark.parametrize(("us", "names", "ms"), [(900, ["Adam"], 4.0), (300, ["Own", "Adam"], 9.0)])
def test_an_optimizer_that_calls_compiled_code_does_not_loop(
    tmp_path: Path, us: float, names: list[str], ms: float
) -> None:
    """Its other operators take 1 ms: half of that, compiled, is what it does."""
    finding = found(tmp_path, updating(us))["TRC012"]
    assert finding.data["optimizers"] == names
    assert finding.data["operators"] == 100
    assert finding.data["ms"] == pytest.approx(ms, abs=0.01)


STOP = (
    "torch/profiler/profiler.py(900): __exit__",
    "torch/profiler/profiler.py(910): stop",
    "torch/cuda/__init__.py(800): synchronize",
)


@pytest.mark.parametrize("frames", [STOP, STOP[2:], ("train.py(40): save",)])
def test_the_end_of_the_profiler_is_no_work_of_the_program(
    tmp_path: Path, frames: tuple[str, ...]
) -> None:
    events = [span("python_function", "train.py(1): <module>", 0, 200_000)]
    events += [op("aten::mm", 10_000 * at + 10, 9_900) for at in (*range(12), 19.95)]
    events += [
        span("python_function", name, 121_000 + at, 78_000 - 2 * at)
        for at, name in enumerate(frames)
    ]
    assert ("TRC024" in found(tmp_path, events, with_stack=1)) is (frames != STOP)


CALLED = "torch/nn/modules/module.py(1776): _call_impl"
LOADED = "torch/utils/data/_utils/fetch.py(52): fetch"


@pytest.mark.parametrize(
    ("outer", "in_model"),
    [((CALLED,), True), ((), False), ((LOADED, CALLED), False)],
)
@pytest.mark.parametrize("on_device", [True, False])
def test_advice_for_the_python_of_a_model_is_not_that_for_batches(
    tmp_path: Path, outer: tuple[str, ...], *, in_model: bool, on_device: bool
) -> None:
    names = ["train.py(1): main", *outer, "net.py(9): route"]
    events = []
    for at in range(20):
        start = 10_000.0 * at
        events += [
            span("python_function", name, start + depth, 9_990 - 2 * depth)
            for depth, name in enumerate(names)
        ]
        events += [op("aten::mm", start + 6_000, 3_000)]
        if on_device:
            asked = {"args": {"correlation": at + 1}}
            events += [launch(start + 6_100, 5) | asked, kernel("k", start + 6_110, 3_000) | asked]
    finding = found(tmp_path, events, with_stack=1)["TRC024"]
    told = {advice.id for advice in finding.advice}
    assert ({"workers", "rarely", "lock"} & told == set()) is in_model
    assert (finding.data["work"] == "model") is in_model
    assert ("graph" in told) is (in_model and on_device)
    assert ("A module is called meanwhile" in finding.message) is (in_model and not on_device)
