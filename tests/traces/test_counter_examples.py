"""What looks like a cause and is none: no sentence may name it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.test_collectives import collective
from tests.traces.test_first_line import A100, GEMM, SOFTMAX, elementwise
from tests.traces.writing import Json, kernel, launch, op


@pytest.mark.parametrize(("layers", "told"), [(50, True), (49, False)])
def test_small_messages_are_of_statistics_if_these_are_as_many(
    tmp_path: Path, layers: int, told: bool
) -> None:
    """Of 100 messages; gradients in small buckets may be the others."""
    sizes = {"In msg nelems": 512, "Out msg nelems": 512}
    events = [collective("allreduce", 1000 + 70 * at, 70, **sizes) for at in range(100)]
    events += [op("aten::batch_norm_backward_elemt", 10.0 * at, 9.0) for at in range(layers)]
    finding = found(tmp_path, [*events, kernel(GEMM, 0, 1000)], **A100)["TRC016"]
    assert ("SyncBatchNorm sends them" in finding.message) is told
    assert finding.advice[0].id == ("norms" if told else "during")


@pytest.mark.parametrize(("busy", "lost"), [(0, 1_000.0), (800, 200.0)])
def test_of_a_batch_that_is_waited_for_only_the_idle_time_is_lost(
    tmp_path: Path, busy: int, lost: float
) -> None:
    """The first of 21 takes a second, in which the GPU may still work on what came before."""
    events: list[Json] = [launch(0) | {"args": {"correlation": 100}}]
    events.append(kernel(GEMM, 1, 1_000 * busy + 1) | {"args": {"correlation": 100}})
    at = 10.0
    for number in range(21):
        wait = 1_000.0 if number else 1_000_000.0
        name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
        events.append(op(name, at, wait))
        args = {"args": {"correlation": number + 1}}
        events.append(launch(at + wait + 5) | args)
        events.append(kernel(GEMM, at + wait + 10, 10_000) | args)
        at += wait + 10_010
    finding = found(tmp_path, events, **A100)["TRC013"]
    assert finding.title.startswith("one batch of 21")
    assert finding.cost is not None
    assert finding.cost.ms == pytest.approx(lost, abs=25)


@pytest.mark.parametrize(("us", "told"), [(1.4, False), (3.0, True)])
def test_what_the_profiler_may_have_added_costs_nothing(
    tmp_path: Path, us: float, told: bool
) -> None:
    """With shapes it may add 1.5 us to each operator: of shorter ones nothing is left."""
    events = [
        op("aten::item" if at % 8 == 0 else "aten::mul", us * at, us - 0.2) for at in range(11_000)
    ]
    finding = found(tmp_path, events, record_shapes=1).get("TRC002")
    assert (finding is not None) is told


WARP = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, %s, false>(int)"


@pytest.mark.parametrize(
    ("between", "told"),
    [
        ([SOFTMAX % ("Forward", "", "Forward")], True),
        ([SOFTMAX % ("Forward", "Log", "Forward")], False),
        ([SOFTMAX % ("Forward", "", "Forward"), elementwise("log")], False),
        ([SOFTMAX % ("Forward", "", "Forward"), elementwise("mul")], True),
        ([WARP % "false"], True),
        ([WARP % "true"], False),
    ],
)
def test_a_logarithm_between_two_products_is_no_attention(
    tmp_path: Path, between: list[str], told: bool
) -> None:
    """A policy has probabilities of one product, and the value of the next."""
    events: list[Json] = []
    at = 0
    for _ in range(20):
        for name in [GEMM, *between, GEMM, "void at::native::index_kernel<4>(int)"]:
            events.append(kernel(name, at, 100))
            at += 100
    assert ("TRC025" in found(tmp_path, events, **A100)) is told


@pytest.mark.parametrize(("trained", "saved"), [(True, 40.0), (False, 20.0)])
def test_a_loss_that_is_not_trained_saves_one_pass(
    tmp_path: Path, trained: bool, saved: float
) -> None:
    """The logarithm takes 1 ms of each of 20 rounds; its way back is no longer than that."""
    events: list[Json] = []
    at = 0
    for _ in range(20):
        names = [GEMM, SOFTMAX % ("Forward", "", "Forward"), elementwise("log"), GEMM]
        names += [SOFTMAX % ("Backward", "", "Backward")] * trained
        for name in names:
            events.append(kernel(name, at, 1_000))
            at += 1_000
    finding = found(tmp_path, events, **A100)["TRC010"]
    assert finding.cost is not None
    assert finding.cost.ms == saved
    assert ("forward and backward" in finding.message) is trained
