"""A host that one call keeps while the device has nothing to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.test_first_line import A100, GEMM
from tests.traces.test_idle import call, ran
from tests.traces.writing import Json, op, span

NOTE = "## exchange ##"
COPY = "Memcpy DtoH (Device -> Pageable)"


def steps(idle: float, wait: float) -> list[Json]:
    """Return five steps of 20 ms: the device is idle for a part, the host waits in a copy for one.

    What comes next was launched before the wait, on a stream that waits as well.
    """
    events: list[Json] = []
    for n in range(5):
        at, last = 20_000.0 * n, 20_000.0 * (n + 1)
        busy = 20_000 * (1 - idle)
        events.append(span("user_annotation", f"ProfilerStep#{n}", at, 20_000))
        for k in range(20):
            number = 100 * n + k + 1
            events.append(call("cudaLaunchKernel", at + 10 * k, 5, number))
            events.append(ran(GEMM, at + 300 + k * (busy - 600) / 20, (busy - 600) / 20, number))
        begins = last - 300 - 20_000 * wait
        long = 20_000 * wait
        events += [
            span("user_annotation", NOTE, begins - 20, long + 40),
            op("aten::copy_", begins - 10, long + 20),
            call("cudaMemcpyAsync", begins, long, 100 * n + 90),
            ran(COPY, last - 310, 5, 100 * n + 90, stream=9),
        ]
    return sorted(events, key=lambda event: (event["ts"], -event["dur"]))


@pytest.mark.parametrize(
    ("idle", "wait", "told"),
    [
        (0.6, 0.56, True),
        (0.6, 0.36, True),
        (0.6, 0.25, False),  # for less than half of the idle time
        (0.6, 0.15, False),
    ],
)
def test_a_call_that_keeps_the_host_is_said(
    tmp_path: Path, idle: float, wait: float, *, told: bool
) -> None:
    finding = found(tmp_path, steps(idle, wait), **A100)["TRC001"]
    ids = [advice.id for advice in finding.advice]
    assert ("blocked" in ids) is told
    assert ("batch" in ids) is not told
    assert (f"`cudaMemcpyAsync` of `aten::copy_`, most of it in `{NOTE}`" in finding.message) is (
        told
    )


def test_a_wait_while_the_device_computes_leaves_nothing_idle(tmp_path: Path) -> None:
    """The same calls wait as long, but the idle time is another's."""
    events = steps(0.3, 0.01)
    for n in range(5):
        at = 20_000.0 * n
        events += [
            op("aten::item", at + 400, 12_000),
            call("cudaStreamSynchronize", at + 410, 11_900),
        ]
    events.sort(key=lambda event: (event["ts"], -event["dur"]))
    finding = found(tmp_path, events, **A100)["TRC001"]
    assert "blocked" not in [advice.id for advice in finding.advice]
