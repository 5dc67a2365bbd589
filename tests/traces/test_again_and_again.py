"""What programs on the CPU do again and again: backward passes, workers that start, messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.writing import Json, op, span


def passes(each: int, *, stepped: bool = True, node: str = "MmBackward0") -> list[Json]:
    """Return four steps of 40 ms with backward passes, and operators that take 20 us each."""
    events = []
    for step in range(4):
        start = 40_000.0 * step
        if stepped:
            events.append(span("user_annotation", f"ProfilerStep#{step}", start, 39_999.0))
        roots = {round(at * 1_500 / each) for at in range(each)}
        for at in range(1_500):
            name = "aten::ones_like" if at in roots else "aten::mul"
            events.append(op(name, start + 1 + 26.0 * at, 20.0))
            if at in roots:
                name = f"autograd::engine::evaluate_function: {node}"
                events.append(op(name, start + 22 + 26.0 * at, 3.0))
    return events


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (passes(16), 16),
        (passes(15), 0),
        (
            [
                *passes(16),
                *[op("aten::ones_like", 39_000.0 + 40_000.0 * at, 1.0) for at in range(4)],
            ],
            17,
        ),
        (
            [
                *passes(16),
                *[op("aten::ones_like", 39_000.0 + 8_000.0 * at, 1.0) for at in range(20)],
            ],
            0,
        ),
        (passes(16, stepped=False), 0),  # which of them belong together is not known
        ([e for e in passes(16) if "evaluate" not in e["name"]], 0),  # ones for something else
        ([*passes(16), op("aten::mm", 160_000.0, 150_000.0)], 16),
        ([*passes(16), op("aten::mm", 160_000.0, 170_000.0)], 0),  # more than half is one
    ],
)
def test_many_backward_passes_in_a_step(tmp_path: Path, events: list[Json], *, told: int) -> None:
    """Operators of 20 us are no small ones; that there are so many passes is what costs."""
    events = sorted(events, key=lambda event: event["ts"])
    finding = found(tmp_path, events).get("TRC002")
    assert (finding is not None) is bool(told)
    if finding is not None:
        assert finding.title == f"{told} backward passes run in each step, one after the other"
        assert [each.id for each in finding.advice] == ["passes"]


def test_one_pass_for_each_step_of_the_optimizer_is_training(tmp_path: Path) -> None:
    events = passes(16)
    for at in [event["ts"] for event in events if "evaluate" in event["name"]]:
        events.append(span("user_annotation", "Optimizer.step#SGD.step", at + 3.5, 0.2))
    events.sort(key=lambda event: event["ts"])
    assert "TRC002" not in found(tmp_path, events)


def test_gradients_as_advised_are_those_of_a_loop(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    parameters, inputs = torch.randn(3), torch.randn(5, 3)
    targets = torch.randn(5)

    def loss(w: object, x: object, y: object) -> object:
        return ((w * x).sum() - y) ** 2  # type: ignore[operator]

    names = {"torch": torch, "loss": loss, "parameters": parameters}
    names |= {"inputs": inputs, "targets": targets}
    exec(found(tmp_path, passes(16))["TRC002"].advice[0].code or "", names)  # noqa: S102
    one = parameters.clone().requires_grad_()
    (expected,) = torch.autograd.grad(loss(one, inputs[2], targets[2]), one)
    assert torch.allclose(names["gradients"][2], expected)


WORKERS = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
ALONE = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def epochs(starts: int, long: float, short: float, *, name: str = WORKERS) -> list[Json]:
    """Return four steps, epochs of five batches: the first of each is waited for long."""
    events = []
    for step in range(4):
        start = 200_000.0 * step
        events.append(span("user_annotation", f"ProfilerStep#{step}", start, 199_999.0))
        if step < starts:
            frame = "torch/utils/data/dataloader.py(433): _get_iterator"
            events.append(span("python_function", frame, start + 1.0, 9.0))
        at = start + 10
        for batch in range(5):
            waited = short if batch else long
            events.append(span("user_annotation", name, at, waited))
            events.append(op("aten::mm", at + waited, 1_000.0))
            at += waited + 1_000
    return events


@pytest.mark.parametrize(
    ("inside", "advice"),
    [
        ("torch/utils/data/dataloader.py(1101): __init__", "stay"),
        ("torch/utils/data/dataloader.py(1600): _shutdown_workers", "stay"),
        ("torch/utils/data/dataset.py(40): __getitem__", "workers"),
    ],
)
def test_workers_are_not_advised_to_start_workers(tmp_path: Path, inside: str, advice: str) -> None:
    events = []
    for at in range(0, 200_000, 20_000):
        events.append(span("python_function", "fit.py(9): train", at, 19_990.0))
        events.append(span("python_function", inside, at + 100, 9_000.0))
        events.append(op("aten::mm", at + 9_100, 10_000.0))
    finding = found(tmp_path, events, with_stack=1)["TRC024"]
    assert [each.id for each in finding.advice] == [advice]


@pytest.mark.parametrize(
    ("events", "advice"),
    [
        (epochs(4, 90_000, 1_000), ["stay"]),
        (epochs(1, 90_000, 1_000), ["workers"]),  # they stay
        (epochs(4, 30_000, 30_000), ["workers"]),  # all batches are as slow
        (epochs(4, 90_000, 1_000, name=ALONE), ["processes"]),
    ],
)
def test_workers_that_start_for_each_epoch(
    tmp_path: Path, events: list[Json], advice: list[str]
) -> None:
    finding = found(tmp_path, events, with_stack=1)["TRC013"]
    assert [each.id for each in finding.advice] == advice
    assert finding.title.startswith("workers start anew 4 times") is (advice == ["stay"])


@pytest.mark.parametrize(
    ("each", "us", "trains", "advice"),
    [
        (20, 900.0, True, ["during", "async"]),
        (19, 900.0, True, ["async"]),
        (20, 1_100.0, True, ["async"]),  # messages that carry something
        (20, 900.0, False, ["async"]),
    ],
)
def test_a_message_for_each_parameter(
    tmp_path: Path, each: int, us: float, advice: list[str], *, trains: bool
) -> None:
    events = []
    for step in range(3):
        start = 60_000.0 * step
        events.append(op("aten::mm", start, 20_000.0))
        for at in range(each):
            begin = start + 20_000 + 1_200 * at
            events.append(span("user_annotation", "gloo:all_reduce", begin, us, tid=7))
        if trains:
            events.append(span("user_annotation", "Optimizer.step#SGD.step", start + 55_000, 9.0))
    finding = found(tmp_path, events)["TRC016"]
    assert [one.id for one in finding.advice] == advice
    assert ("20 are begun for each step" in finding.message) is ("during" in advice)


def selecting(every: int, us: float, *, n: int = 12_000) -> list[Json]:
    """Return operators of 12 us, each ``us`` after the other; one in ``every`` selects rows."""
    names = ["aten::nonzero" if at % every == 0 else f"aten::op{at % 7}" for at in range(n)]
    return [op(name, us * at, 12.0) for at, name in enumerate(names)]


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (selecting(80, 16.0), True),
        (selecting(120, 16.0), False),  # a few among many
        (selecting(80, 16.0, n=7_900), False),  # 99 of them are no loop
        ([*selecting(80, 16.0), op("aten::mm", 192_000.0, 40_000.0)], True),
        ([*selecting(80, 16.0), op("aten::mm", 192_000.0, 250_000.0)], False),
    ],
)
def test_a_loop_that_selects_rows(tmp_path: Path, events: list[Json], *, told: bool) -> None:
    """A quarter of the time is outside of operators: they are no small ones by themselves."""
    finding = found(tmp_path, events).get("TRC002")
    assert (finding is not None) is told
    if finding is not None:
        assert finding.title.startswith("a loop selects rows by what they hold, 150 times")
        assert [each.id for each in finding.advice] == ["sorted", "whole"]


def test_rows_that_are_sorted_by_expert_give_what_a_loop_gives(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    experts = [torch.nn.Linear(4, 4) for _ in range(6)]
    tokens, weight = torch.randn(20, 4), torch.rand(20, 2)
    index = torch.rand(20, 5).topk(2).indices  # nobody asks for the last one
    names = {"torch": torch, "experts": experts, "tokens": tokens}
    names |= {"index": index, "weight": weight}
    exec(found(tmp_path, selecting(80, 16.0))["TRC002"].advice[0].code or "", names)  # noqa: S102
    expected = torch.zeros_like(tokens)
    for number, expert in enumerate(experts):
        row, column = torch.where(index == number)
        expected = expected.index_add(0, row, expert(tokens[row]) * weight[row, column, None])
    assert torch.allclose(names["out"], expected, atol=1e-6)
