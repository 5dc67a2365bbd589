"""What else a program on the CPU does beside training, by how often operators are called."""

from __future__ import annotations

import pytest

from tests.rules.test_trace_honesty import told
from tests.traces.writing import Json, op, span

NODES = ("ConvolutionBackward0", "ReluBackward0")


def steps(
    forward: tuple[int, int], *, nodes: tuple[str, ...] = NODES, us: float = 1000.0
) -> list[Json]:
    """Return four steps: so many convolutions and activations, and a node of the backward each."""
    events: list[Json] = []
    for step in range(4):
        at = us * (sum(forward) + len(nodes)) * step
        names = ["aten::convolution"] * forward[0] + ["aten::relu"] * forward[1]
        for n, name in enumerate(names):
            events.append(op(name, at + us * n, us))
        events += [op(node, at + us * (len(names) + n), us) for n, node in enumerate(nodes)]
    return events


@pytest.mark.parametrize(
    ("forward", "nodes", "passes"),
    [
        ((1, 1), NODES, None),
        ((2, 2), NODES, 2),  # a second pass for the accuracy
        ((6, 6), NODES, 6),  # validation
        ((5, 2), NODES, None),  # part of it is frozen
        ((2, 2), NODES[:1], None),
        ((2, 2), (*NODES, "CheckpointFunctionBackward"), None),
    ],
)
def test_forward_passes_without_a_backward_pass_are_told(
    forward: tuple[int, int], nodes: tuple[str, ...], passes: int | None
) -> None:
    finding = told(steps(forward, nodes=nodes)).get("TRC036")
    assert (finding and finding.data["passes"]) == passes
    if finding is not None and passes is not None:
        whole = sum(forward) + len(nodes)
        assert finding.cost is not None
        expected = 4 * sum(forward) * (1 - 1 / passes)
        assert finding.data["ms"] == pytest.approx(expected)
        assert expected <= 4 * whole
        first = "first-pass" if passes < 3 else "validate-rarely"
        assert finding.advice[0].id == first


@pytest.mark.parametrize(("draws", "is_sampling"), [(10, True), (5, False), (0, False)])
def test_sorting_to_sample_is_told_on_the_cpu(draws: int, is_sampling: bool) -> None:
    events: list[Json] = []
    for n in range(10):
        events += [op("aten::sort", 1000 * n, 800), op("aten::cumsum", 1000 * n + 800, 50)]
        events += [op("aten::multinomial", 1000 * n + 900, 50)] if n < draws else []
    finding = told(events).get("TRC035")
    assert (finding is not None and finding.data["form"] == "top-p") is is_sampling


@pytest.mark.parametrize(("placed", "deep"), [(20, True), (5, False)])
def test_copies_of_deepcopy_are_told_without_stacks(placed: int, deep: bool) -> None:
    events: list[Json] = []
    for n in range(10):
        events += [op("aten::mm", 1000 * n, 500), op("aten::copy_", 1000 * n + 500, 400)]
        events.append(op("aten::new_empty", 1000 * n + 910, 5))
    events += [op("aten::set_", 20_000 + 10 * n, 5) for n in range(placed)]
    finding = told(events)["TRC014"]
    assert [each.id for each in finding.advice] == (["deep"] if deep else ["compile", "once"])


@pytest.mark.parametrize(("own", "deep"), [(3000.0, True), (1500.0, False)])
def test_copies_of_deepcopy_are_told_by_stacks(own: float, deep: bool) -> None:
    name = "torch/_tensor.py(100): __deepcopy__"
    events = [span("python_function", name, 0, own), op("aten::copy_", 0, 4000)]
    finding = told([*events, op("aten::mm", 4000, 6000)])["TRC014"]
    assert ("deepcopy" in finding.title) is deep
