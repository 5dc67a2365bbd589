"""What is told first is the cause: the loop around what is small, the optimizer of launches."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracelens
from tests.traces.test_bounds import found
from tests.traces.test_first_line import elementwise
from tests.traces.test_idle import call, ran
from tests.traces.writing import Json, op, span, text
from tracelens.rules.trc.single_tensor_optimizer import SingleTensorOptimizer


@pytest.mark.parametrize(("others", "read"), [(40, False), (2, True)])
def test_reading_is_told_where_it_is_most_of_what_is_small(
    tmp_path: Path, others: int, read: bool
) -> None:
    events: list[Json] = []
    at = 0.0
    for _ in range(1_200):
        for name in ["aten::item", *["aten::select"] * others]:
            events.append(op(name, at, 0.5))
            at += 1.5
    finding = found(tmp_path, events)["TRC002"]
    assert (" are read " in finding.title) is read


@pytest.mark.parametrize(("optimizing", "severity"), [(30_000, "warning"), (12_000, "info")])
def test_an_optimizer_that_keeps_the_device_waiting_comes_before_its_launches(
    tmp_path: Path, optimizing: int, severity: str
) -> None:
    events: list[Json] = []
    for step in range(3):
        start = 40_000 * step
        events.append(span("user_annotation", f"ProfilerStep#{step}", start, 40_000))
        begin = 40_000 - optimizing
        events.append(
            span("user_annotation", "Optimizer.step#AdamW.step", start + begin, optimizing)
        )
        for n in range(800):
            at, number = start + 50 * n, 10_000 * step + n
            events.append(op("aten::mul_" if 50 * n >= begin else "aten::mm", at, 30))
            events.append(call("cudaLaunchKernel", at + 10, 5, number))
            events.append(ran("void at::native::vectorized_elementwise", at + 20, 6, number))
    path = tmp_path / "trace.json"
    events.sort(key=lambda event: float(event["ts"]))
    path.write_bytes(text(events))
    told = {one.code: one for one in tracelens.analyze(str(path)).findings}
    assert told["TRC012"].severity.value == severity
    assert (told["TRC002"].explained_by == told["TRC012"].id) is (severity == "warning")


@pytest.mark.parametrize(("shorter", "cause"), [(18_000, True), (0, False)])
def test_an_optimizer_is_the_cause_of_the_idle_time_that_falls_into_it(
    tmp_path: Path, shorter: int, cause: bool
) -> None:
    """It has 45 % of a step; what comes before leaves the device idle for less, or for more."""
    events: list[Json] = []
    for step in range(3):
        start = 40_000 * step
        events.append(span("user_annotation", f"ProfilerStep#{step}", start, 40_000))
        events.append(span("user_annotation", "Optimizer.step#AdamW.step", start + 22_000, 18_000))
        for n in range(800):
            at, number = start + 50 * n, 10_000 * step + n
            before = 50 * n < 22_000
            events.append(op("aten::mm" if before else "aten::mul_", at, 30))
            events.append(call("cudaLaunchKernel", at + 10, 5, number))
            us = 38 if before and shorter else 6
            events.append(ran("void at::native::vectorized_elementwise", at + 20, us, number))
    path = tmp_path / "trace.json"
    events.sort(key=lambda event: float(event["ts"]))
    path.write_bytes(text(events))
    told = {one.code: one for one in tracelens.analyze(str(path)).findings}
    assert (told["TRC001"].explained_by == told["TRC012"].id) is cause
    assert ("falls into it" in told["TRC012"].message) is cause


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["Combined", "Adam"], "torch.optim.Adam(model.parameters(), foreach=True)"),
        (["RMSprop"], "torch.optim.RMSprop(model.parameters(), foreach=True)"),
        (["Lion"], None),
    ],
)
def test_only_optimizers_of_torch_are_told_to_take_lists(
    names: list[str], code: str | None
) -> None:
    data = {"optimizers": names, "operators": 300.0, "ms": 5.0, "of_ms": 9.0, "on_device": True}
    rule = SingleTensorOptimizer()
    told = {one.id: one.code for one in rule.advise(rule.Data.model_validate(data))}
    assert told.get("foreach") == code


@pytest.mark.parametrize(("copied", "told"), [(0, False), (200, True)])
def test_copies_with_which_products_begin_are_the_products(
    tmp_path: Path, copied: int, told: bool
) -> None:
    events: list[Json] = []
    at = 0.0
    for n in range(200 + copied):
        if n < copied:
            events += [op("aten::clone", at, 42.0), op("aten::copy_", at + 1, 40.0)]
        else:
            events += [op("aten::addmm", at, 90.0), op("aten::copy_", at + 1, 40.0)]
        at += 100.0
    events += [op("aten::_to_copy", at, 42.0), op("aten::copy_", at + 1, 40.0)]
    assert ("TRC014" in found(tmp_path, events)) is told


UPDATES = ("lerp_scalar", "addcmul_cuda", "sqrt", "addcdiv_cuda")
OTHERS = ("lerp_scalar", "addcmul_cuda", "sqrt", "tanh")


@pytest.mark.parametrize(("works", "is_part"), [(UPDATES, True), (OTHERS, False)])
def test_kernels_that_update_single_parameters_are_part_of_the_optimizer(
    works: tuple[str, ...], is_part: bool, tmp_path: Path
) -> None:
    events: list[Json] = []
    for step in range(3):
        start = 40_000 * step
        events.append(span("user_annotation", f"ProfilerStep#{step}", start, 40_000))
        events.append(span("user_annotation", "Optimizer.step#Adam.step", start + 8_000, 32_000))
        for n in range(800):
            at, number = start + 50 * n, 10_000 * step + n
            events.append(op("aten::mul_", at, 30))
            events.append(call("cudaLaunchKernel", at + 10, 5, number))
            kernel = ran(elementwise(works[n % 4]), at + 20, 6, number)
            kernel["args"]["grid"] = [1024 + n // 4, 1, 1]
            events.append(kernel)
    path = tmp_path / "trace.json"
    events.sort(key=lambda event: float(event["ts"]))
    path.write_bytes(text(events))
    told = {one.code: one for one in tracelens.analyze(str(path)).findings}
    assert (told["TRC010"].explained_by == told["TRC012"].id) is is_part


def test_what_masks_and_scales_scores_is_part_of_unfused_attention() -> None:
    folder = next((Path(__file__).parents[2] / "fixtures" / "rules").glob("TRC025-*"))
    told = {one.code: one for one in tracelens.analyze(str(folder / "fires-softmax.json")).findings}
    assert told["TRC010"].explained_by == told["TRC025"].id
