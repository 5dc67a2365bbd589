"""Products whose result is hardly used, by what comes before and after them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.traces.test_bounds import found
from tests.traces.test_first_line import A100, GEMM
from tests.traces.writing import Json, kernel, op


class Program:
    """Operators one after the other, with shapes; those that multiply launch a kernel, or none."""

    def __init__(self, *, on_gpu: bool) -> None:
        self.on_gpu = on_gpu
        self.events: list[Json] = []
        self.at = 0.0

    def call(self, name: str, dims: list[Any], values: list[str], us: float = 5.0) -> None:
        number = len(self.events) + 1
        args = {"External id": number, "Input Dims": dims, "Concrete Inputs": values}
        args["Input type"] = ["float"] * len(dims)
        host = us if not self.on_gpu else 5.0
        self.events.append(op(f"aten::{name}", self.at, host) | {"args": args})
        if self.on_gpu:
            ran = kernel(GEMM, self.at + 100, us)
            self.events.append(ran | {"args": {"External id": number}})
        self.at += us + 2

    def result(self, path: Path) -> dict[str, Any]:
        self.events.sort(key=lambda event: (event["ts"], -event["dur"]))
        return {**found(path, self.events, record_shapes=1, **(A100 if self.on_gpu else {}))}


def form(told: dict[str, Any]) -> str | None:
    finding = told.get("TRC035")
    return finding.data["form"] if finding is not None else None


SCORES = [2, 256, 32_000]


@pytest.mark.parametrize("on_gpu", [False, True])
@pytest.mark.parametrize(
    ("then", "told"),
    [
        ([("select", ["", "1", "-1"])], "head"),
        ([("select", ["", "1", "255"])], "head"),
        ([("slice", ["", "1", "-1", "9223372036854775807", "1"])], "head"),
        (
            [("slice", ["", "0", "0", "9223372036854775807", "1"]), ("select", ["", "1", "-1"])],
            "head",
        ),
        ([("copy_", ["", ""]), ("select", ["", "1", "-1"])], "head"),
        ([("select", ["", "1", "0"])], None),
        ([("select", ["", "0", "-1"])], None),  # of the last sample, all positions
        ([("_log_softmax", ["", "-1", "False"])], None),
        ([("argmax", ["", "-1", "False"]), ("select", ["", "1", "-1"])], None),
        ([("select", ["", "1", "-1"]), ("_log_softmax", ["", "-1", "False"])], None),
        ([("select", ["", "1", "-1"]), ("select", ["", "1", "3"])], None),
        ([], None),
    ],
)
def test_scores_of_which_only_the_last_are_taken(
    tmp_path: Path, then: list[tuple[str, list[str]]], told: str | None, on_gpu: bool
) -> None:
    program = Program(on_gpu=on_gpu)
    for _ in range(5):
        program.call("mm", [[512, 256], [256, 32_000]], ["", ""], 4_000)
        for name, values in then:
            program.call(name, [SCORES], values)
        program.call("multinomial", [[2, 32_000]], ["", "1"])
    result = program.result(tmp_path)
    assert form(result) == told
    if told:
        assert [one.id for one in result["TRC035"].advice] == ["head"]


def test_what_is_trained_needs_all_scores(tmp_path: Path) -> None:
    program = Program(on_gpu=False)
    for _ in range(5):
        program.call("mm", [[512, 256], [256, 32_000]], ["", ""], 4_000)
        program.call("select", [SCORES], ["", "1", "-1"])
        program.events.append(op("MmBackward0", program.at, 100))
        program.at += 110
    assert form(program.result(tmp_path)) is None


WIDE = ("mm", [[512, 2048], [2048, 1024]])
SQUARE = ("mm", [[1024, 1024], [1024, 1024]])
BIASED = ("addmm", [[1024], [512, 2048], [2048, 1024]])
SCORED = ("bmm", [[8, 2048, 64], [8, 64, 2048]])
WEIGHED = ("bmm", [[8, 2048, 2048], [8, 2048, 64]])
VECTOR = ("mv", [[512, 1024], [1024]])


@pytest.mark.parametrize(
    ("first", "between", "second", "told"),
    [
        (WIDE, None, VECTOR, "order"),
        (WIDE, None, ("mm", [[512, 1024], [1024, 8]]), "order"),
        (SCORED, None, WEIGHED, "order"),
        # Something is done with the result; it is as wide; its left side may be another one.
        (WIDE, "tanh", VECTOR, None),
        (WIDE, None, ("mm", [[512, 1024], [1024, 1024]]), None),
        (SQUARE, None, ("mv", [[1024, 1024], [1024]]), None),
        (WIDE, None, ("mv", [[600, 1024], [1024]]), None),
        (BIASED, None, VECTOR, None),
        (SCORED, "_softmax", WEIGHED, None),
    ],
)
def test_a_product_that_is_multiplied_with_something_narrow(
    tmp_path: Path, first: Any, between: str | None, second: Any, told: str | None
) -> None:
    program = Program(on_gpu=False)
    for _ in range(5):
        program.call(first[0], first[1], ["", ""], 4_000)
        if between:
            program.call(between, [[512, 1024]], [""], 10)
        program.call(second[0], second[1], ["", ""], 100)
        program.call("tanh", [[8]], [""], 10)
    assert form(program.result(tmp_path)) == told


@pytest.mark.parametrize("linear", [True, False])
def test_layers_without_a_bias_are_weights_of_a_model(tmp_path: Path, linear: bool) -> None:
    program = Program(on_gpu=False)
    for _ in range(5):
        start = program.at
        if linear:
            program.events.append(op("aten::linear", start, 4_004))
        program.at += 1
        program.call("mm", [[512, 2048], [2048, 1024]], ["", ""], 4_000)
        if linear:
            program.events.append(op("aten::linear", program.at + 3, 110))
            program.at += 4
        program.call("mm", [[512, 1024], [1024, 8]], ["", ""], 100)
        program.call("tanh", [[8]], [""], 10)
    assert form(program.result(tmp_path)) == (None if linear else "order")


@pytest.mark.parametrize(
    ("side", "product", "then", "told"),
    [
        (1024, [[1024, 1024], [1024, 512]], None, "diagonal"),
        (512, [[1024, 512], [512, 512]], None, "diagonal"),
        (1024, [[512, 1024], [1024, 256]], None, None),
        (1024, [[1024, 1024], [1024, 1024]], "add", None),  # torch.diag(d) + a @ b
        (1024, [[1024, 1024], [1024, 1024]], "tanh", "diagonal"),
    ],
)
def test_a_product_with_a_diagonal_matrix(
    tmp_path: Path, side: int, product: Any, then: str | None, told: str | None
) -> None:
    program = Program(on_gpu=False)
    for _ in range(5):
        program.call("diag_embed", [[side]], ["", "0", "-2", "-1"], 10)
        program.call("mm", product, ["", ""], 4_000)
        if then:
            program.call(then, [product[0]] * 2, ["", ""], 10)
        program.call("sigmoid", [[8]], [""], 10)
    assert form(program.result(tmp_path)) == told


LAST = ("select", [SCORES], ["", "1", "-1"])


@pytest.mark.parametrize(
    ("then", "told"),
    [
        # The last position asks for all of them; a loop goes on to the one before.
        ([("bmm", [[2, 1, 32_000], [2, 32_000, 256]])], None),
        ([("mm", [[2, 64], [64, 64]]), ("select", [SCORES])], None),
        ([("mm", [[2, 64], [64, 64]])] * 3 + [("sum", [SCORES])], None),
        ([("mm", [[2, 64], [64, 64]])] * 3 + [("sum", [[2, 32_000]])], "head"),
        ([("mm", [[2, 64], [64, 64]])] * 40, "head"),
    ],
)
def test_scores_that_something_else_takes_later_are_not_told(
    tmp_path: Path, then: list[tuple[str, list[Any]]], told: str | None
) -> None:
    program = Program(on_gpu=False)
    for _ in range(5):
        program.call("mm", [[512, 256], [256, 32_000]], ["", ""], 4_000)
        program.call(*LAST)
        for name, dims in then:
            program.call(name, dims, ["", "1", "254"])
    assert form(program.result(tmp_path)) == told


@pytest.mark.parametrize("times", [1, 2, 20])
def test_a_matrix_that_is_multiplied_again_and_again_is_computed_once(
    tmp_path: Path, times: int
) -> None:
    program = Program(on_gpu=False)
    for _ in range(5):
        program.call("mm", [[1024, 512], [512, 1024]], ["", ""], 4_000)
        for _ in range(times):
            program.call("mv", [[1024, 1024], [1024]], ["", ""], 100)
            program.call("div", [[1024], []], ["", ""], 10)
    assert form(program.result(tmp_path)) == ("order" if times == 1 else None)


@pytest.mark.parametrize(
    "dims", [{"a": 1}, [{"a": 1, "b": 2}] * 3, [[4, 4], {"a": 1, "b": 2}], "x"]
)
@pytest.mark.parametrize("name", ["mm", "addmm", "mv", "select", "diag_embed"])
def test_shapes_of_another_form_are_passed_over(tmp_path: Path, dims: Any, name: str) -> None:
    program = Program(on_gpu=False)
    program.call("mm", [[512, 256], [256, 32_000]], ["", ""], 4_000)
    program.call("select", [SCORES], {"a": 1})  # type: ignore[arg-type]
    program.call(name, dims, ["", "1", "-1"])
    program.events[-1]["args"]["Input type"] = []
    program.result(tmp_path)
