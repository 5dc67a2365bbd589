"""What runs operator by operator though it is compiled, and penalties that optimizers have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.test_first_line import A100, elementwise
from tests.traces.writing import Json, kernel, op

GRAPH = "## Call CompiledFxGraph fabc ##"


def compiled(inside: list[str], *, frame: str = ": 0/0", beside: int = 0) -> list[Json]:
    """Return ten calls of a compiled region of 1 ms, with operators in it and beside it."""
    events: list[Json] = []
    for at in range(0, 20_000, 2_000):
        events.append(op(f"Torch-Compiled Region{frame}", at, 1_000))
        events += [op(name, at + 10 + 90 * n, 80) for n, name in enumerate(inside)]
        events += [op("aten::relu", at + 1_001 + 90 * n, 80) for n in range(beside)]
    return events


EAGER = ["aten::addmm", "aten::relu", "aten::addmm", "aten::gelu"] * 2


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (compiled(EAGER), True),
        (compiled([GRAPH, *EAGER]), False),  # behind a graph break
        (compiled(["graph_0_cpp_fused_add_relu_0", *EAGER]), False),
        (compiled(["aten::addmm", "aten::convolution"] * 4), False),  # what Inductor calls, too
        (compiled(EAGER, frame=""), False),  # of a version that does not show graphs
        (compiled(["aten::relu"], beside=9), False),
    ],
)
def test_a_backend_that_generates_no_code_is_told(
    tmp_path: Path, events: list[Json], told: bool
) -> None:
    finding = found(tmp_path, events).get("TRC008")
    assert (finding is not None and finding.data["one_by_one"]) is told
    if told:
        assert finding is not None
        assert [one.id for one in finding.advice] == ["backend"]
        # Parts that torch.compiler.disable keeps out of a compiled function look the same.
        assert "backend generates" not in finding.title
        assert "torch.compiler.disable" in finding.message
        assert finding.advice[0].text.startswith("Where `torch.compile` is given a backend")


def test_kernels_that_inductor_generated_are_generated_code(tmp_path: Path) -> None:
    events = [*compiled(EAGER), kernel("triton_poi_fused_add_relu_0", 500, 20)]
    finding = found(tmp_path, events, **A100).get("TRC008")
    assert finding is None or not finding.data["one_by_one"]


def trained(parameters: int, nodes: dict[str, int]) -> list[Json]:
    """Return what trains as many parameters, and squares them in chains."""
    events: list[Json] = []
    at = 0.0
    for _ in range(30):
        for name in ("pow", "mul", "tanh"):
            events.append(op(f"aten::{name}", at, 300))
            at += 302
    for name, count in {"torch::autograd::AccumulateGrad": parameters, **nodes}.items():
        for _ in range(count):
            events.append(op(name, at, 2))
            at += 3
    return events


@pytest.mark.parametrize(
    ("parameters", "nodes", "told"),
    [
        (40, {"PowBackward0": 40, "SumBackward0": 41}, True),
        (40, {"PowBackward0": 16, "SumBackward1": 16}, True),
        (40, {"PowBackward0": 15, "SumBackward0": 16}, False),
        (80, {"PowBackward0": 20, "SumBackward0": 20}, False),  # less than three tenths
        (40, {"PowBackward0": 40, "MeanBackward1": 40}, False),  # RMSNorm by hand
        (40, {"PowBackward0": 40, "SumBackward0": 41, "SubBackward0": 40}, False),  # differences
        # Rows are scaled to length one: x / x.pow(2).sum(-1).sqrt().
        (40, {"PowBackward0": 20, "SumBackward1": 21, "SqrtBackward0": 20}, False),
        (40, {"PowBackward0": 20, "SumBackward1": 21, "RsqrtBackward0": 20}, False),
        (40, {"PowBackward0": 20, "SumBackward1": 21, "SqrtBackward0": 2}, True),
        (20, {"PowBackward0": 40, "SumBackward0": 41}, False),  # more than there are parameters
    ],
)
def test_a_penalty_by_hand_is_told(
    tmp_path: Path, parameters: int, nodes: dict[str, int], told: bool
) -> None:
    advised = [one.id for one in found(tmp_path, trained(parameters, nodes))["TRC010"].advice]
    assert advised == (["penalty", "compile"] if told else ["compile"])


@pytest.mark.parametrize("squares", [40, 10])
def test_a_penalty_is_told_of_a_gpu_too(tmp_path: Path, squares: int) -> None:
    events = trained(40, {"PowBackward0": squares, "SumBackward0": 40})
    grid = {"args": {"grid": [4096, 1, 1]}}
    names = ("pow_tensor", "mul", "tanh")
    events += [kernel(elementwise(names[at % 3]), 20.0 * at, 20) | grid for at in range(300)]
    advised = [one.id for one in found(tmp_path, events, **A100)["TRC010"].advice]
    assert ("penalty" in advised) is (squares == 40)
