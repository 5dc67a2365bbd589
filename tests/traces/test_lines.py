"""The line of the program that launches kernels is named, where stacks were recorded."""

from __future__ import annotations

from typing import Any

import pytest

import tracelens
from tests.traces.writing import Json, read, span, text
from tracelens.traces.host_work import Work, work_of
from tracelens.traces.sites import LaunchedAt

SORT = "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<float>(int*)"
GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::{}<float> >(int)"
MAIN, BACKWARD = 1, 2


class Program:
    """A program whose kernels follow each other on one stream."""

    def __init__(self) -> None:
        self.events: list[Json] = []
        self.now, self.free, self.number = 100.0, 100.0, 0

    def frame(self, name: str, start: float) -> None:
        """Add a Python frame from a moment until now."""
        self.events.append(span("python_function", name, start, self.now - start, pid=1, tid=MAIN))

    def run(
        self, operator: str, name: str, us: float, *, tid: int = MAIN, number: int | None = None
    ) -> None:
        """Call an operator that launches one kernel."""
        self.number += 1
        start, args = self.now, {"correlation": self.number}
        shared = {} if number is None else {"args": {"Sequence number": number}}
        self.events.append(span("cpu_op", operator, start, 10, pid=1, tid=tid, **shared))
        call = span("cuda_runtime", "cudaLaunchKernel", start + 2, 4, pid=1, tid=tid, args=args)
        self.free = max(self.free + 1, start + 8)
        ran = span("kernel", name, self.free, us, pid=0, tid=7, args=args | {"grid": [64, 1, 1]})
        self.events += [call, ran]
        self.free += us
        self.now += 11


def rows(events: list[Json]) -> list[LaunchedAt]:
    return [m.record for m in read(events).measured if isinstance(m.record, LaunchedAt)]


def findings(events: list[Json], tmp_path: Any) -> dict[str, Any]:
    path = tmp_path / "trace.json"
    path.write_bytes(text(events, with_stack=1))
    return {finding.code: finding for finding in tracelens.analyze(str(path)).findings}


def nucleus(frame: str, calls: int = 20) -> list[Json]:
    program = Program()
    for _ in range(calls):
        start = program.now
        program.run("aten::mm", GEMM, 100)
        program.frame("model.py(30): forward", start)
        start = program.now
        program.run("aten::sort", SORT, 400)
        if frame:
            program.frame(frame, start)
    return program.events


def test_a_kernel_has_the_line_that_launches_it() -> None:
    found = {row.frame: row for row in rows(nucleus("sampling.py(17): nucleus"))}
    assert found["sampling.py(17): nucleus"].operator == "aten::sort"
    assert found["sampling.py(17): nucleus"].device_ms == pytest.approx(8.0)
    assert found["model.py(30): forward"].n == 20


def test_frames_of_torch_are_no_lines_of_the_program() -> None:
    found = {row.frame for row in rows(nucleus("torch/nn/modules/linear.py(124): forward"))}
    assert found == {"model.py(30): forward", ""}


def test_nothing_is_said_without_frames() -> None:
    program = Program()
    program.run("aten::sort", SORT, 400)
    assert rows(program.events) == []


def test_gradients_are_those_of_the_forward_line() -> None:
    program = Program()
    start = program.now
    program.run("aten::index", GEMM, 50, number=7)
    program.frame("gnn.py(34): gather", start)
    program.run("IndexBackward0", GEMM, 300, tid=BACKWARD, number=7)
    program.run("MulBackward0", GEMM, 90, tid=BACKWARD, number=8)
    found = {(row.frame, row.backward): row.device_ms for row in rows(program.events)}
    assert found == {
        ("gnn.py(34): gather", True): pytest.approx(0.3),
        ("gnn.py(34): gather", False): pytest.approx(0.05),
        ("", False): pytest.approx(0.09),
    }


def test_a_costly_form_has_its_place(tmp_path: Any) -> None:
    found = findings(nucleus("sampling.py(17): nucleus"), tmp_path)["TRC035"]
    assert found.where is not None
    assert (found.where.file, found.where.line) == ("sampling.py", 17)
    assert "Launched in `nucleus`, sampling.py, line 17: 100 %." in found.message


@pytest.mark.parametrize(("us", "told"), [(3, False), (6, True)])
def test_what_hardly_runs_is_no_costly_form(us: float, told: bool, tmp_path: Any) -> None:
    program = Program()
    for _ in range(20):
        program.run("aten::sort", SORT, us)
    assert ("TRC035" in findings(program.events, tmp_path)) is told


def test_without_its_place_none_is_given(tmp_path: Any) -> None:
    found = findings(nucleus(""), tmp_path)["TRC035"]
    assert found.where is None
    assert "Launched" not in found.message


def chains(times: int, product: float) -> list[Json]:
    """Twelve elementwise kernels in a row, after a product."""
    program = Program()
    for _ in range(times):
        program.run("aten::mm", GEMM, product)
        start = program.now
        for at in range(12):
            name = ("MulFunctor", "CUDAFunctor_add")[at % 2]
            program.run("aten::mul", ELEMENTWISE.format(name), 50)
        program.frame("losses.py(12): focal_loss", start)
    return program.events


@pytest.mark.parametrize(
    ("times", "product", "told"),
    [(2, 1_000, True), (2, 5_000, False), (12, 5_000, True), (12, 30_000, False)],
)
def test_few_long_chains_are_told_where_they_take_much(
    times: int, product: float, told: bool, tmp_path: Any
) -> None:
    found = findings(chains(times, product), tmp_path)
    assert ("TRC010" in found) is told
    if told:
        where = found["TRC010"].where
        assert where is not None
        assert where.function == "focal_loss"


@pytest.mark.parametrize(
    ("frame", "operator", "work"),
    [
        ("model.py(55): causal_mask", "aten::triu", Work.COMPUTES),
        ("model.py(55): causal_mask", "", Work.OWN),
        ("model.py(55): causal_mask", "aten::_foreach_mul_", Work.OWN),
        ("model.py(55): causal_mask", "aten::copy_", Work.OWN),
        ("data.py(9): collate", "aten::stack", Work.PREPARES),
        ("train.py(9): log_metrics", "aten::mean", Work.REPORTS),
        ("", "aten::triu", Work.OPERATOR),
    ],
)
def test_what_is_computed_on_the_cpu(frame: str, operator: str, work: Work) -> None:
    assert work_of(frame, operator) == work
