"""What waits for what: ranks for a rank without common moments, a device for copies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tracelens
from tests.traces.writing import Json, copy, kernel, op, span
from tracelens.evidence import Place, Seen
from tracelens.report import Finding, Report
from tracelens.rules.trc.blocking_copy import BlockingCopy
from tracelens.rules.trc.slow_collective import SlowCollective
from tracelens.traces.ranks import RankTime
from tracelens.traces.stragglers import Late, late


def ranks(*rows: tuple[float, float], **fields: float) -> Late | None:
    """Return who is late among ranks that are so long idle, and so long alone in collectives."""
    return late(
        [
            Seen(
                RankTime(
                    rank=rank,
                    world_size=len(rows),
                    window_ms=1000.0,
                    idle_ms=idle,
                    exposed_comm_ms=alone,
                    **fields,
                ),
                1,
                [Place(f"rank{rank}.json", 1)],
                "",
            )
            for rank, (idle, alone) in enumerate(rows)
        ]
    )


def test_one_rank_is_idle_while_all_others_are_in_collectives() -> None:
    found = ranks((50, 800), (60, 790), (840, 20))
    assert found is not None
    assert found.rank is not None
    assert found.rank.record.rank == 2
    assert found.ms == pytest.approx(770)  # at least: of the least that another one waits


@pytest.mark.parametrize(
    "rows",
    [
        ((50, 800), (60, 790), (70, 780)),  # all wait for what is not recorded
        ((50, 800), (840, 20), (840, 20)),  # two of them are late
        ((50, 60), (60, 50), (840, 20)),  # nobody waits for it
        ((50, 150), (130, 75)),  # less than a tenth
    ],
)
def test_else_nobody_is_named(rows: tuple[tuple[float, float], ...]) -> None:
    assert ranks(*rows) is None


@pytest.mark.parametrize(
    ("count", "last", "named"),
    [
        (18, 12, False),
        (18, 14, True),
        (3, 2, False),  # one of two is, always
        (3, 3, True),
        (4, 3, False),
        (5, 4, True),
    ],
)
def test_a_rank_that_is_last_by_chance_is_no_straggler(count: int, last: int, named: bool) -> None:
    """Of 18 collectives of two ranks either is last to 9 on average, give or take 2.1."""
    rows = [
        Seen(
            RankTime(
                rank=rank,
                world_size=2,
                window_ms=1000.0,
                collectives=count,
                last=times,
                late_ms=ms,
                clock_spread_ms=0.0,
            ),
            1,
            [Place(f"rank{rank}.json", 1)],
            "",
        )
        for rank, (times, ms) in enumerate([(count - last, 60.0), (last, 240.0)])
    ]
    found = late(rows)
    assert found is not None
    assert (found.rank is not None) is named


@pytest.mark.parametrize(("others", "told"), [(1, "1 rank waits for"), (2, "2 ranks wait for")])
def test_who_waits_is_counted(others: int, told: str) -> None:
    found = ranks((600.0, 0.0), *[(0.0, 600.0)] * others)
    assert found is not None
    assert SlowCollective()._late(found, "", None).title.startswith(told)


def analyzed(path: Path, events: list[Json]) -> Report:
    file = path / "trace.json"
    file.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return tracelens.analyze(str(file))


def copied(path: Path, name: str, us: float, *, beside: bool = False) -> list[Finding]:
    """Return what is said of ten steps of 900 us computing and a copy of ``us``."""
    events: list[Json] = []
    at = 1000.0
    for k in range(10):
        events += [kernel("ampere_bf16_s16816gemm", at + 90 * n, 90) for n in range(10)]
        events.append(copy(name, at if beside else at + 900, us, 1_000_000, stream=13))
        end = 900 if beside else 900 + us
        events.append(span("user_annotation", f"ProfilerStep#{k}", at, end))
        at += end
    return [f for f in analyzed(path, events).findings if f.code == "TRC026"]


def test_a_device_that_only_copies_is_told_and_which_way(tmp_path: Path) -> None:
    (out,) = copied(tmp_path, "Memcpy DtoH (Device -> Pageable)", 600)
    assert out.cost is not None
    assert out.cost.share == pytest.approx(0.4, abs=0.01)
    assert [each.code for each in out.advice] == ['result = result.to("cpu", non_blocking=True)']
    (back,) = copied(tmp_path, "Memcpy HtoD (Pinned -> Device)", 600)
    assert "stream" in (back.advice[0].code or "")
    (pageable,) = copied(tmp_path, "Memcpy HtoD (Pageable -> Device)", 600)
    assert "pin_memory" in (pageable.advice[0].code or "")


@pytest.mark.parametrize(
    ("name", "us", "beside"),
    [
        ("Memcpy DtoH (Device -> Pageable)", 60, False),  # less than a tenth
        ("Memcpy DtoH (Device -> Pageable)", 600, True),  # another stream computes
        ("Memcpy DtoD (Device -> Device)", 600, False),  # TRC014's
    ],
)
def test_copies_that_cost_nothing_or_stay_on_the_device(
    tmp_path: Path, name: str, us: float, beside: bool
) -> None:
    assert not copied(tmp_path, name, us, beside=beside)


@pytest.mark.parametrize(("reduced", "views"), [(True, True), (False, False)])
def test_gradients_that_are_copied_back_from_buckets(
    tmp_path: Path, reduced: bool, views: bool
) -> None:
    events: list[Json] = []
    for k in range(20):
        at = 1000.0 * k
        name = "torch::distributed::reducer::mul_out" if reduced else "aten::mul"
        events += [op("aten::mm", at, 600), op(name, at + 600, 200)]
        events.append(op("aten::copy_", at + 800, 200))
    (found,) = [f for f in analyzed(tmp_path, events).findings if f.code == "TRC014"]
    codes = [each.code for each in found.advice]
    assert ("DistributedDataParallel(model, gradient_as_bucket_view=True)" in codes) is views
    assert ("torch.compile(model)" in codes) is not views


def waits(operator: str, call: str, copied: str = "") -> list[Json]:
    """Return six steps of ten waits each, and a kernel half a millisecond after each of them."""
    events: list[Json] = []
    for k in range(60):
        at = 1000.0 * k
        if k % 10 == 0:
            events.append(span("user_annotation", f"ProfilerStep#{k // 10}", at, 10_000.0))
        if operator:
            events.append(op(operator, at, 20.0))
        events.append(span("cuda_runtime", call, at + 5, 10.0, args={"correlation": k}))
        if copied:
            events.append(copy(copied, at + 4, 2.0, 256))
        events += [
            span("cuda_runtime", "cudaLaunchKernel", at + 495, 4.0, args={"correlation": 100 + k}),
            {**kernel("gemm", at + 500, 500.0), "args": {"correlation": 100 + k}},
        ]
    return events


@pytest.mark.parametrize(
    ("name", "reads", "advice"),
    [
        ("Memcpy HtoD (Pageable -> Device)", False, ["find", "copies"]),
        ("Memcpy HtoD (Pageable -> Device)", True, ["find", "once", "rarely"]),
        ("Memcpy HtoD (Pinned -> Device)", False, ["find", "rarely"]),
    ],
)
def test_waits_for_copies_are_no_reading(
    tmp_path: Path, name: str, reads: bool, advice: list[str]
) -> None:
    events = waits("aten::_local_scalar_dense" if reads else "", "cudaStreamSynchronize", name)
    (found,) = [f for f in analyzed(tmp_path, events).findings if f.code == "TRC006"]
    assert [each.id for each in found.advice] == advice
    # to pin what is about to be copied takes as long as the copy that waits
    assert not any("pin_memory()." in (each.code or "") for each in found.advice)


@pytest.mark.parametrize(
    ("operator", "call", "advice"),
    [
        ("aten::_local_scalar_dense", "cudaStreamSynchronize", ["find", "once", "rarely"]),
        ("aten::nonzero", "cudaStreamSynchronize", ["find", "sizes"]),
        ("", "cudaEventSynchronize", ["find", "events"]),
        ("", "cudaDeviceSynchronize", ["find", "calls"]),
    ],
)
def test_advice_fits_what_is_waited_for(
    tmp_path: Path, operator: str, call: str, advice: list[str]
) -> None:
    """Ten times a step the device has nothing to do for half a millisecond."""
    events = waits(operator, call)
    (found,) = [f for f in analyzed(tmp_path, events).findings if f.code == "TRC006"]
    assert [each.id for each in found.advice] == advice


def test_a_batch_copied_beside_the_step_is_waited_for() -> None:
    (ahead,) = [each for each in BlockingCopy.remedies if each.id == "ahead"]
    code = ahead.advice(None).code or ""
    assert code.index("non_blocking=True") < code.index(".wait_stream(copies)")
    assert ".record_stream(" in code


def test_a_busy_device_that_copies_is_not_told_to_compute(tmp_path: Path) -> None:
    copied(tmp_path, "Memcpy DtoH (Device -> Pageable)", 600)
    report = tracelens.analyze(str(tmp_path / "trace.json"))
    (busy,) = [f for f in report.findings if f.code == "TRC030"]
    assert "copies alone take 40 % of the 10 profiled steps" in (busy.harmless or "")
    copied(tmp_path, "Memcpy DtoH (Device -> Pageable)", 20)
    report = tracelens.analyze(str(tmp_path / "trace.json"))
    (busy,) = [f for f in report.findings if f.code == "TRC030"]
    assert "alone" not in (busy.harmless or "")


@pytest.mark.parametrize(
    ("calls", "steps", "room"), [(3, True, True), (2, True, False), (3, False, False)]
)
def test_memory_that_is_given_back_in_a_step_is_no_start(
    tmp_path: Path, calls: int, steps: bool, room: bool
) -> None:
    """The second of three steps: ``calls`` of cudaFree and one of cudaMalloc keep the device."""
    events: list[Json] = []
    at = 1000.0
    for k in range(3):
        begin = at
        if k == 1:
            for name in ["cudaFree"] * calls + ["cudaMalloc"]:
                events.append(span("cuda_runtime", name, at, 5_000.0))
                at += 5_000.0
        for n in range(20):
            number = 100 * k + n + 1
            launched = span("cuda_runtime", "cudaLaunchKernel", at, 4.0)
            ran = kernel("gemm", at + 6, 900.0)
            events += [each | {"args": {"correlation": number}} for each in (launched, ran)]
            at += 910.0
        if steps:
            step = span("user_annotation", f"ProfilerStep#{k}", begin, at - begin)
            events.append(step)
    events.sort(key=lambda each: (each["ts"], -each["dur"]))
    (found,) = [f for f in analyzed(tmp_path, events).findings if f.code == "TRC023"]
    assert found.data["makes_room"] is room
    assert [each.id for each in found.advice] == [*(["segments"] if room else []), "warm-up"]
    assert ("makes room" in found.message) is room


@pytest.mark.parametrize(
    ("waits", "late", "told"),
    [
        (600.0, True, True),  # the queue is empty then, and small kernels come one by one
        (600.0, False, False),  # the host is ahead again at once
        (20.0, True, False),  # it waits for hardly anything: it is late for another reason
    ],
)
def test_copies_to_the_host_let_it_fall_behind(
    tmp_path: Path, waits: float, *, late: bool, told: bool
) -> None:
    """Sizes that are copied to the host: nothing is queued while it catches up."""
    events: list[Json] = [span("user_annotation", "ProfilerStep#3", 0, 36_000)]
    for at in range(12):
        start = 3_000.0 * at
        busy = 1_990.0 - 20 if late else 2_970.0
        events.append(span("cuda_runtime", "cudaMemcpyAsync", start + 1_970 - waits, waits))
        events.append(span("cuda_runtime", "cudaStreamSynchronize", start + 1_970, 4))
        events.append(kernel("gemm", start, busy - 30))
        events.append(copy("Memcpy DtoH (Device -> Pageable)", start + busy - 10, 2, 8))
        if late:
            events += [kernel("small", start + 2_000 + 100 * each, 5) for each in range(10)]
        events += [op("aten::add", start + 2_000 + 100 * each, 60) for each in range(10)]
        events += [
            span("cuda_runtime", "cudaLaunchKernel", start + 1_990 + 100 * each, 4)
            for each in range(10)
        ]
    path = tmp_path / "trace.json"
    events.sort(key=lambda event: event["ts"])
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    found = {each.code: each for each in tracelens.analyze(str(path)).findings}
    assert ("TRC006" in found) is told
    if told:
        assert "catches up after 12 copies to the host" in found["TRC006"].message
        assert [each.id for each in found["TRC006"].advice] == ["find", "back"]


def beside_graphs(waits: float, works: float) -> list[Json]:
    """Return ten rounds: compiled code, operators that work so long, and one that waits."""
    events: list[Json] = []
    for at in range(10):
        start = 2_000.0 * at
        events.append(op("Torch-Compiled Region: 0/0", start, 40))
        events.append(op("aten::add", start + 100, works))
        begin = start + 150 + works
        events.append(op("aten::nonzero", begin, waits + 10))
        events.append(span("cuda_runtime", "cudaStreamSynchronize", begin + 5, waits))
        events.append(kernel("gemm", start + 100, 50 + works + waits))
    return events


@pytest.mark.parametrize(("waits", "works", "told"), [(800, 20, False), (800, 400, True)])
def test_operators_that_wait_are_none_that_compiling_makes_shorter(
    tmp_path: Path, waits: float, works: float, *, told: bool
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": beside_graphs(waits, works)}))
    found = {each.code: each for each in tracelens.analyze(str(path)).findings}
    assert ("TRC008" in found) is told
    if told:
        assert found["TRC008"].cost is not None
        assert found["TRC008"].cost.ms == pytest.approx(10 * (works + 10) / 1000, rel=0.01)
        assert "without 8 ms in which they wait for the GPU" in found["TRC008"].message


@pytest.mark.parametrize(
    ("operator", "stacks", "python"),
    [(False, False, True), (True, False, False), (False, True, False)],
)
def test_python_after_waits_is_what_the_gpu_waits_for(
    tmp_path: Path, *, operator: bool, stacks: bool, python: bool
) -> None:
    """After each wait the host is in no operator for 3 ms, or in one; or stacks name the line."""
    events: list[Json] = []
    for at in range(60):
        start, key = 10_000.0 * at, {"correlation": at + 1}
        events.append(span("cuda_runtime", "cudaLaunchKernel", start, 4, args=key))
        events.append(op("aten::nonzero", start + 5, 6_900))
        events.append(span("cuda_runtime", "cudaStreamSynchronize", start + 10, 6_890))
        events.append(kernel("gemm", start + 10, 6_880) | {"args": key})
        if operator:
            events.append(op("aten::masked_select", start + 6_910, 3_080))
        if stacks:
            events.append(span("python_function", "masks.py(7): to_rle", start + 6_910, 3_080))
    path = tmp_path / "trace.json"
    events.sort(key=lambda event: event["ts"])
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    found = {each.code: each for each in tracelens.analyze(str(path)).findings}["TRC006"]
    assert (found.data["python_ms"] > 0) is python
    assert found.title.startswith("Python between operators") is python
    assert ([each.id for each in found.advice] == ["python"]) is python
    assert ("rarely" in {each.id for each in found.advice}) is False
